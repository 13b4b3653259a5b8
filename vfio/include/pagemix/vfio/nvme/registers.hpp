// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pagemix/vfio/pci/device.hpp"

namespace pagemix::vfio::nvme {

/// Fields of CAP, VS and CRTO in units a program can use.
struct Capabilities {
  std::uint32_t max_queue_entries = 0;         ///< MQES + 1
  std::uint64_t min_page_bytes = 0;            ///< MPSMIN
  std::uint64_t max_page_bytes = 0;            ///< MPSMAX
  std::uint64_t doorbell_stride = 0;           ///< bytes, DSTRD
  std::chrono::milliseconds ready_timeout{0};  ///< TO, or CRTO where it is longer
  bool nvm_command_set = false;                ///< CSS
  std::uint32_t version = 0;                   ///< VS: major, minor, tertiary in 16, 8, 8 bits
};

/// The controller's registers in BAR 0 (NVMe PCIe transport specification 1.0,
/// section 3.1). Every wait is bounded by the controller's own time-out. Error:
///   ENODEV     the registers read all ones: the device is gone
///   EIO        controller fatal status
///   ETIMEDOUT  the controller did not get ready, or not get out of it
///   ENOTSUP    no NVM command set
class Registers {
 public:
  static constexpr std::uint32_t all_ones = 0xffffffff;  ///< what a read of an absent device gives

  /// `name` is for messages: "nvme 0000:00:02.0".
  Registers(pci::Bar bar, std::string name);

  const Capabilities& capabilities() const noexcept { return capabilities_; }

  /// CC.EN = 0, then CSTS.RDY = 0. The controller has then stopped all DMA
  /// and forgotten its queues.
  void disable();
  /// From the disabled state: admin rings of `entries` at the two IOVAs,
  /// CC.EN = 1, then CSTS.RDY = 1.
  void enable(std::uint64_t page_bytes, std::uint32_t entries, std::uint64_t submissions_iova,
              std::uint64_t completions_iova);
  /// CC.SHN = normal shutdown, then CSTS.SHST = complete, within `timeout`.
  void shut_down(std::chrono::milliseconds timeout);

  /// Throws ENODEV if the device is gone; `operation` starts the message.
  void check_alive(const std::string& operation) const;
  /// CSTS. All ones: the device is gone.
  std::uint32_t status() const { return bar_.read<std::uint32_t>(csts_offset); }

  /// Doorbells of queue `id`, valid as long as this object. Throws Error
  /// (ERANGE) if the BAR is too small.
  volatile std::uint32_t* submission_doorbell(std::uint16_t id);
  volatile std::uint32_t* completion_doorbell(std::uint16_t id);

 private:
  static constexpr std::uint64_t csts_offset = 0x1c;

  std::uint64_t read64(std::uint64_t offset) const;
  void write64(std::uint64_t offset, std::uint64_t value);
  template <typename Condition>
  void wait(const std::string& operation, std::chrono::milliseconds timeout, bool fatal_is_error,
            Condition condition);

  pci::Bar bar_;
  std::string name_;
  Capabilities capabilities_;
};

}  // namespace pagemix::vfio::nvme
