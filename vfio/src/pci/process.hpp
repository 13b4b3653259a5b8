// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace pagemix::vfio::pci {

/// A process that no later one can be mistaken for: pids are used again, the
/// pair of pid and start time is not, within one boot.
struct ProcessIdentity {
  int pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/<pid>/stat
  std::string boot_id;            ///< /proc/sys/kernel/random/boot_id

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity current_process();
bool is_running(const ProcessIdentity& process);

}  // namespace pagemix::vfio::pci
