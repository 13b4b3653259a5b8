// SPDX-License-Identifier: Apache-2.0
// Kernel trace events as far as allocations need them.
#pragma once

#include <cstdint>
#include <string>

namespace pagemix::bench {

enum class EventKind {
  kCompactionBegin,  ///< compaction:mm_compaction_begin; value: 1 sync, 0 async
  kCompactionEnd,    ///< compaction:mm_compaction_end; value as above, text: status
  kReclaimBegin,     ///< vmscan:mm_vmscan_direct_reclaim_begin; order
  kReclaimEnd,       ///< vmscan:mm_vmscan_direct_reclaim_end; value: pages reclaimed
  kWakeKswapd,       ///< vmscan:mm_vmscan_wakeup_kswapd; order
  kSwitch,           ///< sched:sched_switch from pid to next, whose name is text
  kInterruptBegin,   ///< irq:irq_handler_entry, irq:softirq_entry, x86's local timer
  kInterruptEnd,     ///< their exits
  kPageFromBuddy,    ///< kmem:mm_page_alloc_zone_locked; order
  kPageAlloc,        ///< kmem:mm_page_alloc; order, value: 1 if for a heap, by its GFP flags
};

struct TraceEvent {
  EventKind kind{};
  std::uint64_t ns = 0;  ///< CLOCK_MONOTONIC_RAW
  int cpu = 0;
  int pid = 0;  ///< thread in which it happened
  int next = 0;
  unsigned order = 0;
  std::uint64_t value = 0;
  std::string text{};
};

}  // namespace pagemix::bench
