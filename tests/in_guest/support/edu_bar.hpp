// SPDX-License-Identifier: Apache-2.0
// QEMU's edu device by its BAR in sysfs, for a device that another driver holds
// which leaves it alone, as pagemix does. Registers: docs/specs/edu.rst of QEMU.
#pragma once

#include <cstdint>
#include <string>

#include "support/kernel.hpp"

namespace pagemix::test {

class EduBar {
 public:
  /// Turns memory decoding and bus mastering on; false in operator bool when
  /// the device cannot be reached.
  explicit EduBar(const std::string& bdf);
  /// Bus mastering off again.
  ~EduBar();
  EduBar(const EduBar&) = delete;
  EduBar& operator=(const EduBar&) = delete;
  explicit operator bool() const { return static_cast<bool>(registers_); }

  /// Eight bytes of memory at @p iova into the device, or back; waits for the
  /// end. False when it does not come within a second.
  bool read(std::uint64_t iova) const { return transfer(iova, false); }
  bool write(std::uint64_t iova) const { return transfer(iova, true); }

 private:
  bool transfer(std::uint64_t iova, bool to_memory) const;
  bool command(std::uint16_t bits) const;

  std::string folder_;
  Map registers_;
};

}  // namespace pagemix::test
