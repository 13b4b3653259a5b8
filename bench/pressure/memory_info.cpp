// SPDX-License-Identifier: Apache-2.0
#include "pressure/memory_info.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/environment.hpp"

namespace pagemix::bench {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The counts that end a line, order 0 first; ">100000" counts as 100000.
FreeBlocks counts_of(const std::vector<std::string>& words, std::size_t from) {
  FreeBlocks free;
  for (std::size_t i = from; i < words.size() && i - from < PAGEMIX_ORDERS; ++i) {
    const std::string& word = words[i];
    free.blocks[i - from] = parse_number(word.starts_with('>') ? word.substr(1) : word).value_or(0);
  }
  return free;
}

std::string must_read(const std::filesystem::path& file) {
  const auto text = vfio::read_text(file);
  if (!text) throw RunError("read " + file.string() + ": cannot be read (run as root)");
  return *text;
}

bool counts_cost(const std::string& name) {
  static const std::array kPrefixes = {"compact_",   "allocstall", "pgscan_",    "pgsteal_",
                                       "pgmigrate_", "kswapd_",    "pageoutrun", "oom_kill"};
  return std::ranges::any_of(kPrefixes, [&](const char* p) { return name.starts_with(p); });
}

}  // namespace

void FreeBlocks::add(const FreeBlocks& other) {
  for (std::size_t order = 0; order < blocks.size(); ++order) blocks[order] += other.blocks[order];
}

std::uint64_t FreeBlocks::pages() const { return pages_at_least(0); }

std::uint64_t FreeBlocks::pages_at_least(unsigned order) const {
  std::uint64_t pages = 0;
  for (unsigned k = order; k < blocks.size(); ++k) pages += blocks[k] << k;
  return pages;
}

double FreeBlocks::unusable(unsigned order) const {
  const std::uint64_t all = pages();
  if (all == 0) return 0;
  return static_cast<double>(all - pages_at_least(order)) / static_cast<double>(all);
}

FreeBlocks parse_buddyinfo(const std::string& text) {
  FreeBlocks free;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);  // Node 0, zone DMA 1 2 3 ...
    if (words.size() > 4 && words[0] == "Node") free.add(counts_of(words, 4));
  }
  return free;
}

PageTypes parse_pagetypeinfo(const std::string& text) {
  PageTypes types;
  std::vector<std::string> names;  // of the table of pageblocks
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.size() > 6 && words[4] == "type") {  // Node 0, zone DMA, type Movable 1 2 ...
      types.free[words[5]].add(counts_of(words, 6));
    } else if (words.size() > 4 && words[0] == "Number") {  // Number of blocks type A B ...
      names.assign(words.begin() + 4, words.end());
    } else if (words.size() == names.size() + 4 && words[0] == "Node") {
      for (std::size_t i = 0; i < names.size(); ++i)
        types.page_blocks[names[i]] += parse_number(words[i + 4]).value_or(0);
    }
  }
  return types;
}

FreeBlocks PageTypes::usable() const {
  FreeBlocks sum;
  for (const auto& [type, blocks] : free)
    if (type != "CMA" && type != "HighAtomic" && type != "Isolate") sum.add(blocks);
  return sum;
}

Watermarks parse_watermarks(const std::string& zoneinfo) {
  Watermarks sum;
  std::istringstream lines(zoneinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.size() != 2) continue;
    const auto pages = parse_number(words[1]);
    if (!pages) continue;
    if (words[0] == "min") sum.min += *pages;
    if (words[0] == "low") sum.low += *pages;
    // "high:" with a colon is that of a per-CPU list.
    if (words[0] == "high") sum.high += *pages;
  }
  return sum;
}

CpuLists parse_cpu_lists(const std::string& zoneinfo) {
  CpuLists sum;
  bool lists = false;
  std::istringstream lines(zoneinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "Node") lists = false;
    if (words[0] == "pagesets") lists = true;
    if (!lists || words.size() != 2) continue;
    if (words[0] == "count:") sum.pages += parse_number(words[1]).value_or(0);
    if (words[0] == "high:") sum.high += parse_number(words[1]).value_or(0);
  }
  return sum;
}

VmStat parse_vmstat(const std::string& text) {
  VmStat values;
  std::istringstream lines(text);
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;) values[name] = value;
  return values;
}

VmStat read_vmstat(const vfio::SystemPaths& paths) {
  return parse_vmstat(must_read(paths.proc / "vmstat"));
}

std::map<std::string, double> vmstat_delta(const VmStat& before, const VmStat& after) {
  std::map<std::string, double> delta;
  for (const auto& [name, value] : after) {
    if (!counts_cost(name)) continue;
    const auto old = before.find(name);
    const double grown =
        static_cast<double>(value) - (old == before.end() ? 0.0 : static_cast<double>(old->second));
    delta[name] = grown;
    if (name.starts_with("allocstall_")) delta["allocstall"] += grown;
  }
  return delta;
}

MemorySnapshot memory_snapshot(const vfio::SystemPaths& paths) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  MemorySnapshot now;
  now.buddy = parse_buddyinfo(must_read(paths.proc / "buddyinfo"));
  now.types = parse_pagetypeinfo(must_read(paths.proc / "pagetypeinfo"));
  now.usable = now.types.usable();
  const std::string zoneinfo = must_read(paths.proc / "zoneinfo");
  now.watermarks = parse_watermarks(zoneinfo);
  now.cpu_list_pages = parse_cpu_lists(zoneinfo).pages;
  now.free_pages = meminfo_bytes("MemFree", paths) / page;
  now.available_pages = meminfo_bytes("MemAvailable", paths) / page;
  now.file_pages =
      (meminfo_bytes("Inactive(file)", paths) + meminfo_bytes("Active(file)", paths)) / page;
  return now;
}

}  // namespace pagemix::bench
