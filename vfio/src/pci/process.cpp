// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <unistd.h>

#include <sstream>

#include "pagemix/vfio/files.hpp"

namespace pagemix::vfio::pci {
namespace {

std::string boot_id() { return read_line("/proc/sys/kernel/random/boot_id").value_or(""); }

/// 0 if there is no such process, or only its zombie.
std::uint64_t start_ticks(int pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat").value_or("");
  // The name in brackets may hold blanks and brackets; fields count after the last one.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  fields >> field;  // 3: state
  if (field == "Z" || field == "X") return 0;
  for (int number = 4; number < 22; ++number) fields >> field;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace

ProcessIdentity current_process() {
  const int pid = ::getpid();
  return {pid, start_ticks(pid), boot_id()};
}

bool is_running(const ProcessIdentity& process) {
  return process.boot_id == boot_id() && process.start_ticks != 0 &&
         start_ticks(process.pid) == process.start_ticks;
}

}  // namespace pagemix::vfio::pci
