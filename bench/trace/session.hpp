// SPDX-License-Identifier: Apache-2.0
// The kernel's trace events around an allocation, by libtracefs.
#pragma once

#include <string>
#include <vector>

#include "trace/event.hpp"
#include "trace/instance.hpp"

struct tep_handle;

namespace pagemix::bench {

/// Events of an instance of tracefs of its own.
class TraceSession {
 public:
  /// RunError says why not: an event this kernel lacks, or as TraceInstance.
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
  void start() noexcept { instance_.start(); }
  void stop() noexcept { instance_.stop(); }

  /// What was recorded since the last call, in order of time. @p lost is set to
  /// the number of events that found no room.
  std::vector<TraceEvent> drain(std::uint64_t& lost);

 private:
  TraceInstance instance_;
  tep_handle* tep_ = nullptr;
};

}  // namespace pagemix::bench
