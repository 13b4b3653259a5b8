// SPDX-License-Identifier: Apache-2.0
#include "trace/attribution.hpp"

#include <algorithm>
#include <vector>

namespace pagemix::bench {
namespace {

// Walks through the events of one allocation.
class Walk {
 public:
  Walk(int pid, std::uint64_t begin) : pid_(pid), last_(begin) {}

  void event(const TraceEvent& event);
  Attribution end(std::uint64_t ns) {
    advance(ns);
    return result_;
  }

 private:
  enum class Phase { kNone, kCompaction, kReclaim };

  void advance(std::uint64_t ns);
  void own_event(const TraceEvent& event);
  void switched(const TraceEvent& event);
  void leave(Phase phase) {
    // An end without its begin belongs to what began before the window.
    if (!phases_.empty() && phases_.back() == phase) phases_.pop_back();
  }
  std::uint64_t* who_runs(const TraceEvent& event);

  const int pid_;
  std::uint64_t last_;
  bool running_ = true;
  int left_cpu_ = 0;
  std::uint64_t* occupant_ = nullptr;
  std::vector<Phase> phases_;
  unsigned interrupts_ = 0;  // a hard one may hit a soft one
  Attribution result_;
};

void Walk::advance(std::uint64_t ns) {
  const std::uint64_t passed = ns - last_;
  last_ = ns;
  const Phase phase = phases_.empty() ? Phase::kNone : phases_.back();
  if (phase == Phase::kCompaction) result_.compaction_wall += passed;
  if (phase == Phase::kReclaim) result_.reclaim_wall += passed;
  if (!running_)
    *occupant_ += passed;
  else if (interrupts_ != 0)
    result_.interrupts += passed;
  else if (phase == Phase::kCompaction)
    result_.compaction += passed;
  else if (phase == Phase::kReclaim)
    result_.reclaim += passed;
  else
    result_.other_own += passed;
}

std::uint64_t* Walk::who_runs(const TraceEvent& event) {
  if (event.next == 0) return &result_.idle;
  if (event.text.starts_with("kswapd")) return &result_.kswapd;
  if (event.text.starts_with("kcompactd")) return &result_.kcompactd;
  return &result_.others;
}

void Walk::switched(const TraceEvent& event) {
  if (event.next == pid_) {
    advance(event.ns);
    running_ = true;
  } else if (event.pid == pid_) {
    advance(event.ns);
    running_ = false;
    left_cpu_ = event.cpu;
    occupant_ = who_runs(event);
    ++result_.switches;
  } else if (!running_ && event.cpu == left_cpu_) {
    advance(event.ns);
    occupant_ = who_runs(event);
  }
}

void Walk::own_event(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::kCompactionBegin:
      advance(event.ns);
      phases_.push_back(Phase::kCompaction);
      ++(event.value != 0 ? result_.compactions_sync : result_.compactions_async);
      break;
    case EventKind::kCompactionEnd:
      advance(event.ns);
      leave(Phase::kCompaction);
      ++result_.compaction_status[event.text];
      break;
    case EventKind::kReclaimBegin:
      advance(event.ns);
      phases_.push_back(Phase::kReclaim);
      ++result_.reclaims;
      break;
    case EventKind::kReclaimEnd:
      advance(event.ns);
      leave(Phase::kReclaim);
      result_.reclaimed_pages += event.value;
      break;
    case EventKind::kWakeKswapd:
      ++result_.kswapd_wakeups;
      break;
    case EventKind::kPageAlloc:
      if (event.value != 0 && event.order < result_.chunks.size()) ++result_.chunks[event.order];
      break;
    case EventKind::kInterruptBegin:
      advance(event.ns);
      ++interrupts_;
      break;
    case EventKind::kInterruptEnd:
      advance(event.ns);
      if (interrupts_ != 0) --interrupts_;  // else it began before the window
      break;
    case EventKind::kPageFromBuddy:
    case EventKind::kSwitch:
      break;
  }
}

void Walk::event(const TraceEvent& event) {
  if (event.kind == EventKind::kSwitch)
    switched(event);
  else if (event.pid == pid_)
    own_event(event);
}

}  // namespace

Attribution attribute(int pid, std::uint64_t begin, std::uint64_t end,
                      std::span<const TraceEvent> events) {
  Walk walk(pid, begin);
  for (const TraceEvent& event : events)
    if (event.ns >= begin && event.ns <= end) walk.event(event);
  return walk.end(end);
}

double zeroing_per_page(int pid, unsigned least_order, std::span<const TraceEvent> events) {
  std::vector<double> costs;
  const TraceEvent* taken = nullptr;
  for (const TraceEvent& event : events) {
    if (event.kind == EventKind::kSwitch) {
      if (event.pid == pid) taken = nullptr;  // somebody else's time would count
      continue;
    }
    if (event.pid != pid) continue;
    if (event.kind == EventKind::kInterruptBegin) taken = nullptr;
    if (event.kind == EventKind::kPageFromBuddy) taken = &event;
    if (event.kind == EventKind::kPageAlloc && taken != nullptr && taken->order == event.order &&
        event.order >= least_order)
      costs.push_back(static_cast<double>(event.ns - taken->ns) /
                      static_cast<double>(std::uint64_t{1} << event.order));
    if (event.kind == EventKind::kPageAlloc) taken = nullptr;
  }
  if (costs.empty()) return 0;
  std::ranges::nth_element(costs, costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2));
  return costs[costs.size() / 2];
}

}  // namespace pagemix::bench
