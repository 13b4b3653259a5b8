// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pagemix::vfio::iommu {

/// IO virtual addresses first..last, both included, so that a range may end
/// at the top of the address space.
struct IovaRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const IovaRange&, const IovaRange&) = default;
};

/// "0x8000000-0x80fffff"
std::string to_string(const IovaRange& range);

/// Largest address difference a leaf alignment may cost: 1 GiB.
inline constexpr std::uint64_t max_leaf_alignment = std::uint64_t{1} << 30;

/// Alignment that lets the IOMMU use its largest leaf for a mapping of
/// `bytes`: the largest page size of `page_sizes` (bit n: 1 << n bytes) that
/// is not above min(bytes, 1 GiB). Falls back to the smallest page size;
/// throws Error (EINVAL) for an empty bitmap or 0 bytes.
std::uint64_t leaf_alignment(std::uint64_t page_sizes, std::uint64_t bytes);

/// Hands out IOVAs of an address space, first fit from below. IOVA 0 is never
/// handed out: a device with an unset address register would write there.
/// Not thread safe.
class IovaAllocator {
 public:
  /// `ranges` are the usable addresses, in any order, not overlapping;
  /// `granule` is the IOMMU's base page size. Ranges are cut to whole
  /// granules. Throws Error (EINVAL) for overlapping or reversed ranges.
  IovaAllocator(std::span<const IovaRange> ranges, std::uint64_t granule);

  /// Allocates `bytes` (rounded up to granules) at a multiple of `alignment`
  /// (a power of two) with the last byte not above `limit`. nullopt when no
  /// free range fits. Throws Error (EINVAL) for 0 bytes or a bad alignment.
  std::optional<std::uint64_t> try_allocate(
      std::uint64_t bytes, std::uint64_t alignment,
      std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

  /// try_allocate() that throws Error (ENOSPC) naming the largest free range.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment,
                         std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

  /// Gives back exactly what allocate() returned for `bytes`; adjacent free
  /// ranges join. Throws Error (EINVAL) for anything else.
  void free(std::uint64_t iova, std::uint64_t bytes);

  std::uint64_t granule() const noexcept { return granule_; }
  /// Free ranges, ascending, neighbours joined.
  std::vector<IovaRange> free_ranges() const;
  /// Sum of the free ranges in bytes.
  std::uint64_t free_bytes() const noexcept;

 private:
  std::uint64_t rounded(std::uint64_t bytes, const char* operation) const;

  std::uint64_t granule_;
  std::map<std::uint64_t, std::uint64_t> free_;       // first -> last
  std::map<std::uint64_t, std::uint64_t> allocated_;  // first -> last
};

}  // namespace pagemix::vfio::iommu
