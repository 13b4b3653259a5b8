// SPDX-License-Identifier: Apache-2.0
// What the kernel says about free memory: by order, by type, against its
// watermarks, and what its allocator had to do.
#pragma once

#include <pagemix.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/page_order.hpp"
#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

inline constexpr std::uint64_t kLargeBlock = 1 << 20;  ///< of the system heap: order 8 of 4 KiB

/// Free blocks of the buddy allocator, by order.
struct FreeBlocks {
  std::array<std::uint64_t, PAGEMIX_ORDERS> blocks{};

  void add(const FreeBlocks& other);
  std::uint64_t pages() const;
  /// Pages in blocks of @p order and larger.
  std::uint64_t pages_at_least(unsigned order) const;
  /// Blocks of @p order that could be cut from what is free.
  std::uint64_t blocks_at_least(unsigned order) const { return pages_at_least(order) >> order; }
  /// The unusable free space index (mm/vmstat.c, unusable_free_index): the part
  /// of free memory that a request of @p order cannot use. 0 with no free page.
  double unusable(unsigned order) const;
};

/// /proc/buddyinfo, all zones together.
FreeBlocks parse_buddyinfo(const std::string& text);

/// /proc/pagetypeinfo. It caps a count at 100000 (">100000"); at order 4 and
/// above that is 6.4 GB of blocks of one order.
struct PageTypes {
  std::map<std::string, FreeBlocks> free;            ///< by migrate type
  std::map<std::string, std::uint64_t> page_blocks;  ///< number of pageblocks by type

  /// Free blocks that an allocation of the heap may get: not those of CMA
  /// (GFP_HIGHUSER is not movable), not the reserve for atomic requests, not
  /// isolated ones.
  FreeBlocks usable() const;
};
PageTypes parse_pagetypeinfo(const std::string& text);

/// Sums over the zones of /proc/zoneinfo, in pages.
struct Watermarks {
  std::uint64_t min = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};
Watermarks parse_watermarks(const std::string& zoneinfo);

/// /proc/vmstat.
using VmStat = std::map<std::string, std::uint64_t>;
VmStat parse_vmstat(const std::string& text);
VmStat read_vmstat(const vfio::SystemPaths& paths = {});

/// Counters that tell what allocations cost the kernel, in @p after and not in
/// @p before: compact_*, allocstall_* and their sum allocstall, pgscan_*,
/// pgsteal_*, pgmigrate_*, oom_kill and kswapd's.
std::map<std::string, double> vmstat_delta(const VmStat& before, const VmStat& after);

/// All of the above at one time. RunError names the file that cannot be read
/// (/proc/pagetypeinfo is root's).
struct MemorySnapshot {
  FreeBlocks buddy;  ///< every free block
  PageTypes types;
  FreeBlocks usable;  ///< what the heap may get
  Watermarks watermarks;
  std::uint64_t free_pages = 0;       ///< MemFree
  std::uint64_t file_pages = 0;       ///< inactive and active page cache
  std::uint64_t cpu_list_pages = 0;   ///< free too, but not in MemFree
  std::uint64_t available_pages = 0;  ///< MemAvailable
};
/// Per-CPU lists of all zones, by /proc/zoneinfo: pages that are free and counted
/// nowhere else, and how many the lists may hold.
struct CpuLists {
  std::uint64_t pages = 0;
  std::uint64_t high = 0;
};
CpuLists parse_cpu_lists(const std::string& zoneinfo);

MemorySnapshot memory_snapshot(const vfio::SystemPaths& paths = {});

}  // namespace pagemix::bench
