// SPDX-License-Identifier: Apache-2.0
#include "dma_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace pagemix::vfio::nvme {
namespace {

/// Whole granules and pages. IOVAs are aligned to a granule: a larger page of
/// the controller takes one page more, to align within.
std::uint64_t reserved(std::uint64_t bytes, std::uint64_t granule, std::uint64_t page) {
  const std::uint64_t unit = std::max(granule, page);
  return (bytes + unit - 1) / unit * unit + (page > granule ? page : 0);
}

}  // namespace

DmaMemory::DmaMemory(iommu::AddressSpace& space, iommu::IovaAllocator& iovas, std::uint64_t bytes,
                     std::uint64_t page_bytes)
    : memory_(-1, reserved(bytes, space.granule(), page_bytes), 0, PROT_READ | PROT_WRITE,
              "memory for NVMe queues"),
      mapping_(space, iovas, memory_.bytes()) {
  const std::uint64_t skip = -mapping_.iova() & (page_bytes - 1);
  bytes_ = memory_.bytes().subspan(skip, bytes);
  iova_ = mapping_.iova() + skip;
}

}  // namespace pagemix::vfio::nvme
