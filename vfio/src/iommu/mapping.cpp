// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/mapping.hpp"

#include <cstdio>
#include <exception>
#include <utility>

namespace pagemix::vfio::iommu {

Mapping::Mapping(AddressSpace& space, IovaAllocator& allocator, std::span<std::byte> memory,
                 Access access, std::uint64_t limit)
    : space_(&space),
      allocator_(&allocator),
      memory_(memory),
      iova_(allocator.allocate(memory.size(), leaf_alignment(space.page_sizes(), memory.size()),
                               limit)) {
  try {
    space.map(memory, iova_, access);
  } catch (...) {
    allocator.free(iova_, memory.size());
    throw;
  }
}

Mapping::Mapping(Mapping&& other) noexcept
    : space_(other.space_),
      allocator_(other.allocator_),
      memory_(std::exchange(other.memory_, {})),
      iova_(other.iova_) {}

Mapping::~Mapping() {
  try {
    unmap();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
}

void Mapping::unmap() {
  if (memory_.empty()) return;
  const std::uint64_t bytes = std::exchange(memory_, {}).size();
  space_->unmap(iova_, bytes);
  allocator_->free(iova_, bytes);
}

}  // namespace pagemix::vfio::iommu
