// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace pagemix::vfio::nvme {

/// Status of a completed command: the Status Field of the completion queue
/// entry without its phase tag (NVMe base specification 2.0, figure 93), as
/// libnvme's enum nvme_status_field counts the bits.
struct Status {
  std::uint16_t raw = 0;

  bool ok() const noexcept { return (raw & 0x7ff) == 0; }
  std::uint8_t type() const noexcept { return static_cast<std::uint8_t>(raw >> 8 & 0x7); }  ///< SCT
  std::uint8_t code() const noexcept { return static_cast<std::uint8_t>(raw & 0xff); }      ///< SC
  bool more() const noexcept { return (raw & 0x2000) != 0; }
  bool do_not_retry() const noexcept { return (raw & 0x4000) != 0; }
  /// Compare Failure: memory and medium differ. The device has read the memory.
  bool compare_failed() const noexcept { return (raw & 0x7ff) == 0x285; }

  /// "Compare Failure (type 2 media, code 0x85)"
  std::string text() const;

  friend bool operator==(const Status&, const Status&) = default;
};

}  // namespace pagemix::vfio::nvme
