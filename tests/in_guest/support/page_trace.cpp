// SPDX-License-Identifier: Apache-2.0
#include "support/page_trace.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

const std::string kTracing = "/sys/kernel/tracing/";
const std::string kEvent = kTracing + "events/kmem/mm_page_alloc/";

void put(const std::string& path, const std::string& text) {
  if (const int error = write_text(path, text))
    throw std::runtime_error("write " + path + ": " + std::strerror(error));
}

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void empty_buffer() {
  if (std::ofstream file(kTracing + "trace", std::ios::trunc); !file)
    throw std::runtime_error("empty " + kTracing + "trace");
}

bool has(const std::string& line, const char* part) { return line.find(part) != std::string::npos; }

}  // namespace

Orders parse_page_allocs(const std::string& trace) {
  Orders orders;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t order = line.find(" order=");
    if (!has(line, "mm_page_alloc: ") || order == std::string::npos) continue;
    const bool granted = !has(line, " pfn=0x0 ");
    // GFP_HIGHUSER, or its flags one by one where reclaim is taken out.
    const bool user = has(line, "GFP_HIGHUSER|") || has(line, "__GFP_HIGHMEM|");
    if (granted && user && has(line, "__GFP_ZERO"))
      ++orders[static_cast<unsigned>(std::stoul(line.substr(order + 7)))];
  }
  return orders;
}

PageTrace::PageTrace() : tracing_on_(read_line(kTracing + "tracing_on")) {
  if (tracing_on_.empty()) throw std::runtime_error("no tracefs at " + kTracing);
  if (read_line(kEvent + "enable") != "0")
    throw std::runtime_error(kEvent + "enable is not 0: somebody else traces");
  put(kTracing + "tracing_on", "0");
  put(kEvent + "filter", "common_pid == " + std::to_string(getpid()));
  put(kEvent + "enable", "1");
}

PageTrace::~PageTrace() {
  write_text(kEvent + "enable", "0");
  write_text(kEvent + "filter", "0");
  write_text(kTracing + "tracing_on", tracing_on_);
}

Orders PageTrace::during(const std::function<void()>& action) {
  empty_buffer();
  put(kTracing + "tracing_on", "1");
  action();
  put(kTracing + "tracing_on", "0");
  const std::string text = read_all(kTracing + "trace");
  // "# entries-in-buffer/entries-written: 12/12   #P:1"
  const std::size_t at = text.find("entries-written: ");
  unsigned long kept = 0;
  unsigned long written = 0;
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at, "entries-written: %lu/%lu", &kept, &written) != 2 ||
      kept != written)
    throw std::runtime_error("the trace buffer lost events");
  return parse_page_allocs(text);
}

}  // namespace pagemix::test
