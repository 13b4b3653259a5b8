// SPDX-License-Identifier: Apache-2.0
// Where the time of one allocation went.
#pragma once

#include <pagemix.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "trace/event.hpp"

namespace pagemix::bench {

/// The time of one thread between two moments, split. Each nanosecond is in one
/// part only: time off the CPU, or in interrupts, inside of compaction counts as
/// that.
struct Attribution {
  // On the CPU, in the thread.
  std::uint64_t compaction = 0;  ///< direct compaction
  std::uint64_t reclaim = 0;     ///< direct reclaim
  std::uint64_t other_own = 0;   ///< neither: the allocator, zeroing, the system call
  std::uint64_t interrupts = 0;  ///< hard and soft interrupts that hit the thread
  // Off it, by who ran on the CPU that the thread had left.
  std::uint64_t kswapd = 0;
  std::uint64_t kcompactd = 0;
  std::uint64_t others = 0;
  std::uint64_t idle = 0;  ///< nobody: the thread slept

  // From begin to end, whoever ran: as the 2023 discussion counts.
  std::uint64_t compaction_wall = 0;
  std::uint64_t reclaim_wall = 0;

  std::uint64_t compactions_async = 0;
  std::uint64_t compactions_sync = 0;
  std::map<std::string, std::uint64_t> compaction_status;  ///< by the kernel's word
  std::uint64_t reclaims = 0;
  std::uint64_t reclaimed_pages = 0;
  std::uint64_t switches = 0;                          ///< times the thread left the CPU
  std::uint64_t kswapd_wakeups = 0;                    ///< by the thread
  std::array<std::uint64_t, PAGEMIX_ORDERS> chunks{};  ///< for a heap, by order

  std::uint64_t off_cpu() const { return kswapd + kcompactd + others + idle; }
  std::uint64_t on_cpu() const { return compaction + reclaim + other_own + interrupts; }
};

/// @p events in order of time, of all CPUs; those outside of [begin, end] do not
/// count. The thread is on a CPU at @p begin.
Attribution attribute(int pid, std::uint64_t begin, std::uint64_t end,
                      std::span<const TraceEvent> events);

/// What zeroing a page costs: the time from a block's leaving the buddy lists
/// to its being handed out, over its pages (median over the blocks of at least
/// 2^@p least_order pages that @p pid got). 0 without one.
double zeroing_per_page(int pid, unsigned least_order, std::span<const TraceEvent> events);

}  // namespace pagemix::bench
