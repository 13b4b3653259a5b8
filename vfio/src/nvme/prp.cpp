// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/prp.hpp"

#include <bit>

namespace pagemix::vfio::nvme {

std::uint64_t PrpGeometry::list_bytes(std::uint64_t max_bytes) const noexcept {
  // The worst offset: the last dword of a page. Entries without the first page.
  const std::uint64_t entries = pages(page_bytes - 4, max_bytes) - 1;
  if (entries <= 1) return 8;  // PRP2 itself; keeps slots apart
  const std::uint64_t per_page = page_bytes / 8;
  if (entries <= per_page) return std::bit_ceil(entries * 8);
  // Every page but the last gives one entry to the chain.
  const std::uint64_t list_pages = (entries - 1 + per_page - 2) / (per_page - 1);
  return list_pages * page_bytes;
}

DataPointer build_prps(const PrpGeometry& geometry, std::uint64_t iova, std::uint64_t bytes,
                       std::span<std::uint64_t> list, std::uint64_t list_iova) noexcept {
  const std::uint64_t page = geometry.page_bytes;
  std::uint64_t entries = geometry.pages(iova, bytes) - 1;  // behind PRP1
  std::uint64_t next = (iova & ~(page - 1)) + page;
  if (entries == 0) return {iova, 0};
  if (entries == 1) return {iova, next};

  const std::uint64_t per_page = page / 8;
  std::size_t at = 0;
  while (entries > 0) {
    // A list page whose last entry is followed by more points to the next page.
    const bool chained = entries > per_page;
    const std::uint64_t here = chained ? per_page - 1 : entries;
    for (std::uint64_t i = 0; i < here; ++i, next += page) list[at++] = next;
    entries -= here;
    if (chained) {
      list[at] = list_iova + (at + 1) * 8;
      ++at;
    }
  }
  return {iova, list_iova};
}

}  // namespace pagemix::vfio::nvme
