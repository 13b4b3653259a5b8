// SPDX-License-Identifier: Apache-2.0
// The kernel's trace events around an allocation, by libtracefs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trace/event.hpp"

struct tep_handle;
struct tracefs_instance;

namespace pagemix::bench {

/// An instance of tracefs of its own, so that nobody else's tracing is touched.
/// Its clock is mono_raw, that of user_now_ns(): events and samples compare.
/// Removed at the end.
class TraceSession {
 public:
  /// RunError says why not: no tracefs, an event this kernel lacks, another
  /// pagemix that traces, no memory for the buffers. Removes what a killed
  /// pagemix has left behind.
  TraceSession();
  ~TraceSession();
  TraceSession(const TraceSession&) = delete;
  TraceSession& operator=(const TraceSession&) = delete;

  /// Switches the events on; before, they cost nothing. @p pages: each page
  /// allocation too (kmem events), some 700 instructions each: for heaps that do
  /// not tell their chunks, and to see what zeroing costs.
  void arm(bool pages);
  /// Switches all events off.
  void disarm() noexcept;

  /// Recording starts and stops; both are outside of what is timed.
  void start() noexcept;
  void stop() noexcept;

  /// What was recorded since the last call, in order of time. @p lost is set to
  /// the number of events that found no room.
  std::vector<TraceEvent> drain(std::uint64_t& lost);

 private:
  std::uint64_t lost_so_far() const;
  void enable(const char* system, const char* event, bool on);

  tracefs_instance* instance_ = nullptr;
  tep_handle* tep_ = nullptr;
  int switch_fd_ = -1;
  std::uint64_t lost_ = 0;
};

}  // namespace pagemix::bench
