// SPDX-License-Identifier: Apache-2.0
#include "fault_sweep/injector.hpp"

#include <sys/syscall.h>

#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pagemix::test {
namespace {

constexpr const char* kKinds[] = {"failslab", "fail_page_alloc", "fail_usercopy"};
const std::string kDebugfs = "/sys/kernel/debug/";

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

}  // namespace

Code module_code(const std::string& module) {
  std::ifstream file("/proc/modules");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name, users, by, state, address;
    std::uint64_t bytes = 0;
    words >> name >> bytes >> users >> by >> state >> address;
    if (name != module) continue;
    const std::uint64_t begin = std::stoull(address, nullptr, 16);
    if (!begin) throw std::runtime_error("/proc/modules hides addresses (kernel.kptr_restrict)");
    return {begin, begin + bytes};
  }
  throw std::runtime_error("module " + module + " is not loaded");
}

// Symbols come sorted by address within the kernel's own.
Code function_code(const std::string& name) {
  std::ifstream file("/proc/kallsyms");
  std::string line;
  Code code;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string address, type, symbol;
    words >> address >> type >> symbol;
    const std::uint64_t at = std::stoull(address, nullptr, 16);
    if (code.begin && at > code.begin) {
      code.end = at;
      return code;
    }
    // GCC names its variants of a function NAME.constprop.0 and the like.
    if (symbol == name || symbol.starts_with(name + ".")) code.begin = at;
  }
  throw std::runtime_error("/proc/kallsyms has no address of " + name);
}

Injector::Injector() {
  const std::string path = "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/fail-nth";
  fail_nth_ = Fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fail_nth_)
    throw std::runtime_error("this kernel has no fault injection (CONFIG_FAULT_INJECTION): " +
                             path + ": " + std::strerror(errno));
  set("failslab/ignore-gfp-wait", "N");
  set("failslab/cache-filter", "N");
  set("fail_page_alloc/ignore-gfp-wait", "N");
  set("fail_page_alloc/ignore-gfp-highmem", "N");
  set("fail_page_alloc/min-order", "0");
  for (const std::string kind : kKinds) {
    set(kind + "/verbose", "0");
    set(kind + "/stacktrace-depth", "32");
  }
}

Injector::~Injector() {
  disarm();
  for (auto setting = settings_.rbegin(); setting != settings_.rend(); ++setting)
    write_text(setting->path, setting->before);
}

void Injector::set(const std::string& path, const std::string& value) {
  const std::string whole = kDebugfs + path;
  const std::string before = read_line(whole);
  if (const int err = write_text(whole, value))
    throw std::runtime_error("write '" + value + "' to " + whole + ": " + std::strerror(err));
  settings_.push_back({whole, before});
}

void Injector::only(const Code& inside, const Code& outside) {
  for (const std::string kind : kKinds) {
    set(kind + "/require-start", hex(inside.begin));
    set(kind + "/require-end", hex(inside.end));
    set(kind + "/reject-start", hex(outside.begin));
    set(kind + "/reject-end", hex(outside.end));
  }
}

void Injector::arm(unsigned n) {
  const std::string text = std::to_string(n);
  if (pwrite(fail_nth_.get(), text.data(), text.size(), 0) < 0)
    throw std::runtime_error(std::string("write to fail-nth: ") + std::strerror(errno));
}

bool Injector::disarm() {
  std::array<char, 16> text{};
  if (pread(fail_nth_.get(), text.data(), text.size() - 1, 0) < 0)
    throw std::runtime_error(std::string("read of fail-nth: ") + std::strerror(errno));
  const bool came = std::strtoul(text.data(), nullptr, 10) == 0;
  if (pwrite(fail_nth_.get(), "0", 1, 0) < 0)
    throw std::runtime_error(std::string("write to fail-nth: ") + std::strerror(errno));
  return came;
}

}  // namespace pagemix::test
