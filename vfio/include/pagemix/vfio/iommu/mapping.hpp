// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/iommu/iova.hpp"

namespace pagemix::vfio::iommu {

/// Memory mapped for DMA at an IOVA of its own, until destruction. Address
/// space, allocator and memory outlive it.
class Mapping {
 public:
  /// Takes an IOVA aligned by leaf_alignment() whose last byte is not above
  /// `limit` (a device's DMA mask) and maps `memory` there. Throws Error as
  /// IovaAllocator::allocate() and AddressSpace::map() do.
  Mapping(AddressSpace& space, IovaAllocator& allocator, std::span<std::byte> memory,
          Access access = Access::read_write,
          std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;

  /// Unmaps; a failure goes to stderr, and the IOVA is not used again.
  ~Mapping();

  /// Unmaps now; throws Error. The object is empty afterwards.
  void unmap();

  std::uint64_t iova() const noexcept { return iova_; }
  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  AddressSpace* space_;
  IovaAllocator* allocator_;
  std::span<std::byte> memory_;
  std::uint64_t iova_;
};

}  // namespace pagemix::vfio::iommu
