// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/iova.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::iommu {

std::string to_string(const IovaRange& range) { return hex(range.first) + "-" + hex(range.last); }

std::uint64_t leaf_alignment(std::uint64_t page_sizes, std::uint64_t bytes) {
  if (page_sizes == 0) throw Error(EINVAL, "leaf alignment", "the page-size bitmap is empty");
  if (bytes == 0) throw Error(EINVAL, "leaf alignment", "0 bytes, allowed: 1 or more");
  const std::uint64_t cap = std::bit_floor(std::min(bytes, max_leaf_alignment));
  const std::uint64_t fitting = page_sizes & (cap | (cap - 1));
  return fitting != 0 ? std::bit_floor(fitting) : page_sizes & (~page_sizes + 1);
}

IovaAllocator::IovaAllocator(std::span<const IovaRange> ranges, std::uint64_t granule)
    : granule_(granule) {
  if (!std::has_single_bit(granule))
    throw Error(EINVAL, "IOVA allocator",
                "granule " + std::to_string(granule) + ", allowed: a power of two");
  std::vector<IovaRange> sorted(ranges.begin(), ranges.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const IovaRange& a, const IovaRange& b) { return a.first < b.first; });
  const std::uint64_t mask = granule - 1;
  const IovaRange* previous = nullptr;
  for (const IovaRange& range : sorted) {
    if (range.first > range.last)
      throw Error(EINVAL, "IOVA allocator", "range " + to_string(range) + " ends before it starts");
    if (previous != nullptr && range.first <= previous->last)
      throw Error(EINVAL, "IOVA allocator",
                  "ranges " + to_string(*previous) + " and " + to_string(range) + " overlap");
    previous = &range;
    if (range.first > ~mask) continue;  // less than a granule below the top
    const std::uint64_t first = std::max((range.first + mask) & ~mask, granule);
    // Last byte of the last whole granule; `last + 1` may wrap to 0.
    const std::uint64_t end = (range.last + 1) & ~mask;
    const std::uint64_t last = end - 1;
    if ((end == 0 && range.last < ~mask) || first > last) continue;
    if (!free_.empty() && std::prev(free_.end())->second + 1 == first)
      std::prev(free_.end())->second = last;
    else
      free_.emplace(first, last);
  }
}

std::uint64_t IovaAllocator::rounded(std::uint64_t bytes, const char* operation) const {
  const std::uint64_t mask = granule_ - 1;
  if (bytes == 0 || bytes > ~mask)
    throw Error(EINVAL, operation,
                std::to_string(bytes) + " bytes, allowed: 1.." + std::to_string(~mask));
  return (bytes + mask) & ~mask;
}

std::optional<std::uint64_t> IovaAllocator::try_allocate(std::uint64_t bytes,
                                                         std::uint64_t alignment,
                                                         std::uint64_t limit) {
  const std::uint64_t size = rounded(bytes, "allocate IOVA");
  if (!std::has_single_bit(alignment))
    throw Error(EINVAL, "allocate IOVA",
                "alignment " + std::to_string(alignment) + ", allowed: a power of two");
  const std::uint64_t mask = std::max(alignment, granule_) - 1;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [first, last] = *it;
    if (first > ~mask) break;  // no multiple of the alignment above
    const std::uint64_t iova = (first + mask) & ~mask;
    const std::uint64_t end = std::min(last, limit);
    if (iova > end || end - iova < size - 1) continue;
    const std::uint64_t iova_last = iova + (size - 1);
    free_.erase(it);
    if (first < iova) free_.emplace(first, iova - 1);
    if (iova_last < last) free_.emplace(iova_last + 1, last);
    allocated_.emplace(iova, iova_last);
    return iova;
  }
  return std::nullopt;
}

std::uint64_t IovaAllocator::allocate(std::uint64_t bytes, std::uint64_t alignment,
                                      std::uint64_t limit) {
  if (const auto iova = try_allocate(bytes, alignment, limit)) return *iova;
  std::uint64_t largest = 0;
  for (const auto& [first, last] : free_)
    if (first <= limit) largest = std::max(largest, std::min(last, limit) - first + 1);
  throw Error(ENOSPC, "allocate IOVA",
              "no free range holds " + std::to_string(bytes) + " bytes aligned to " +
                  std::to_string(alignment) + " below " + hex(limit) + "; the largest has " +
                  std::to_string(largest) + " bytes");
}

void IovaAllocator::free(std::uint64_t iova, std::uint64_t bytes) {
  const std::uint64_t size = rounded(bytes, "free IOVA");
  const auto found = allocated_.find(iova);
  if (found == allocated_.end() || found->second - iova != size - 1)
    throw Error(EINVAL, "free IOVA",
                hex(iova) + " with " + std::to_string(bytes) + " bytes was not allocated");
  std::uint64_t first = iova;
  std::uint64_t last = found->second;
  allocated_.erase(found);

  auto next = free_.upper_bound(first);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->second + 1 == first) {
      first = before->first;
      free_.erase(before);
    }
  }
  if (next != free_.end() && last + 1 == next->first) {
    last = next->second;
    free_.erase(next);
  }
  free_.emplace(first, last);
}

std::vector<IovaRange> IovaAllocator::free_ranges() const {
  std::vector<IovaRange> ranges;
  for (const auto& [first, last] : free_) ranges.push_back({first, last});
  return ranges;
}

std::uint64_t IovaAllocator::free_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [first, last] : free_) bytes += last - first + 1;
  return bytes;
}

}  // namespace pagemix::vfio::iommu
