// SPDX-License-Identifier: Apache-2.0
// A series of allocations, all held until its end: what the families under
// memory pressure share.
#pragma once

#include <pagemix.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/dma_heap.hpp"
#include "machine/heap_client.hpp"
#include "pressure/memory_info.hpp"
#include "trace/session.hpp"

namespace pagemix::bench {

/// One heap, by the interface that tells most.
class SeriesHeap {
 public:
  /// Buffers of pagemix.ko by a mix. @p heap outlives this.
  SeriesHeap(const HeapClient& heap, std::vector<pagemix_step> steps, std::uint64_t bytes);
  /// Buffers of any heap, by its own policy.
  SeriesHeap(const std::string& node, std::uint64_t bytes);

  /// One allocation and nothing else: 0 or a positive errno value.
  int try_allocate(int& buffer) noexcept;
  /// What the heap says about a buffer; nullopt when it says nothing.
  std::optional<pagemix_buf_info> info(int buffer) const;

 private:
  const HeapClient* own_ = nullptr;
  pagemix_alloc request_{};
  std::optional<DmaHeap> other_;
  std::uint64_t bytes_ = 0;
};

/// One allocation of a series.
struct SeriesSample {
  double cost = 0;  ///< in clock units, as user space sees it
  std::map<std::string, double> counters;
};

/// What is measured once, so that a trace can be read. In clock units.
struct TraceCosts {
  double zero_per_page = 0;  ///< zeroing_per_page()
  double per_event = 0;      ///< what recording one event adds
};

/// Measures them with buffers of 8 MiB: @p large of blocks of at least 1 MiB,
/// @p small of as many blocks as the heap can make of it.
TraceCosts measure_trace_costs(TraceSession& trace, SeriesHeap& large, SeriesHeap& small);

/// How a series is measured.
struct SeriesPlan {
  std::uint32_t allocations = 0;
  std::uint32_t pause_ms = 0;
  TraceSession* trace = nullptr;  ///< null: no attribution
  TraceCosts costs;
  bool pages_traced = false;  ///< chunks are counted from events too
  std::uint64_t pages = 0;    ///< of one buffer
};

struct SeriesResult {
  std::vector<SeriesSample> samples;  ///< in order of allocation
  FreeBlocks free_after;              ///< what a heap could still get, all buffers held
};

/// Allocates, holds, frees all at its end, also after an error. @p between is
/// called before each allocation, untimed. Throws RunError with the number of
/// the allocation that failed; EINTR gives GivenUp.
SeriesResult run_series(SeriesHeap& heap, const SeriesPlan& plan, const std::string& name,
                        const std::function<void()>& between);

}  // namespace pagemix::bench
