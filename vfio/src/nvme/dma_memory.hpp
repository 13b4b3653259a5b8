// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pagemix/vfio/iommu/mapping.hpp"
#include "pagemix/vfio/memory.hpp"

namespace pagemix::vfio::nvme {

/// Zeroed memory for rings and data structures, mapped for the device, at an
/// IOVA that is a multiple of the controller's page.
class DmaMemory {
 public:
  DmaMemory(iommu::AddressSpace& space, iommu::IovaAllocator& iovas, std::uint64_t bytes,
            std::uint64_t page_bytes);

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  std::uint64_t iova() const noexcept { return iova_; }

 private:
  MappedMemory memory_;
  iommu::Mapping mapping_;
  std::span<std::byte> bytes_;
  std::uint64_t iova_;
};

}  // namespace pagemix::vfio::nvme
