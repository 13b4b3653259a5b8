// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"

namespace pagemix::vfio::iommu {

/// An access that the IOMMU refused, as its driver told the kernel log.
struct Fault {
  std::uint64_t iova = 0;
  /// Stream id (SMMUv3), endpoint (virtio-iommu) or requester id (VT-d, AMD);
  /// with PCI usually bus << 8 | device << 3 | function.
  std::optional<std::uint32_t> source;
  std::string text;  ///< the kernel's line

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Finds faults in kernel messages, which come one at a time. Knows
///   arm-smmu-v3    to 6.13 "event 0x10 received:" and four words; from 6.14 one line
///   virtio_iommu   "page fault from EP 16 at 0x..."
///   intel-iommu    "DMAR: [DMA Read NO_PASID] Request device [00:02.0] fault addr 0x..."
///   amd-iommu      "AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x.. address=0x.. flags=0x..]"
class FaultParser {
 public:
  /// `message` is the text of one record, without priority and time.
  std::optional<Fault> feed(const std::string& message);

 private:
  std::optional<std::size_t> words_;  // of an SMMUv3 event that have come
  Fault pending_;
};

/// Follows the kernel log from construction on. The kernel limits how many
/// faults it prints, so absence of a further one proves nothing.
class FaultLog {
 public:
  /// `path` is /dev/kmsg. Without the right to read it no fault is ever seen;
  /// readable() tells.
  explicit FaultLog(const std::filesystem::path& path = "/dev/kmsg");

  bool readable() const noexcept { return static_cast<bool>(fd_); }
  /// Faults logged since the last call; waits up to `grace` for the first.
  std::vector<Fault> read(std::chrono::milliseconds grace = {});

 private:
  UniqueFd fd_;
  FaultParser parser_;
};

}  // namespace pagemix::vfio::iommu
