// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/address_space.hpp"

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::iommu {

void AddressSpace::map(std::span<const std::byte> memory, std::uint64_t iova, Access access) {
  const int result = try_map(memory, iova, access);
  if (result == 0) return;
  throw Error(-result,
              "map " + std::to_string(memory.size()) + " bytes at " + hex(iova) + " of " + name(),
              explain_map(-result, memory, iova, access));
}

void AddressSpace::unmap(std::uint64_t iova, std::uint64_t bytes) {
  const UnmapResult result = try_unmap(iova, bytes);
  if (result.error == 0) return;
  throw Error(-result.error,
              "unmap " + std::to_string(bytes) + " bytes at " + hex(iova) + " of " + name(),
              explain_unmap(result, iova, bytes));
}

}  // namespace pagemix::vfio::iommu
