// SPDX-License-Identifier: Apache-2.0
#include "pressure/series.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "machine/clock.hpp"
#include "trace/attribution.hpp"

namespace pagemix::bench {
namespace {

double as_double(std::uint64_t value) { return static_cast<double>(value); }

// What every allocation has, 0 or not; other vmstat deltas only when not 0.
constexpr std::array kAlways = {"compact_stall", "compact_success", "compact_fail", "allocstall",
                                "pgscan_direct"};

void add_vmstat(SeriesSample& sample, const VmStat& before, const VmStat& after) {
  for (const char* key : kAlways) sample.counters[key] = 0;
  for (const auto& [key, value] : vmstat_delta(before, after))
    if (value != 0) sample.counters[key] = value;
}

void add_info(SeriesSample& sample, const pagemix_buf_info& info) {
  add_buffer_counters(sample.counters, info);
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order) {
    const std::string suffix = "_order" + std::to_string(order);
    if (info.order_fails[order] != 0)
      sample.counters["fails" + suffix] = as_double(info.order_fails[order]);
    if (info.order_ns[order] != 0) sample.counters["ns" + suffix] = as_double(info.order_ns[order]);
  }
}

void add_traced_chunks(SeriesSample& sample, const Attribution& attribution, bool told) {
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order) {
    if (attribution.chunks[order] == 0) continue;
    const double chunks = as_double(attribution.chunks[order]);
    sample.counters["traced_chunks_order" + std::to_string(order)] = chunks;
    if (!told) sample.counters["chunks_order" + std::to_string(order)] = chunks;
  }
}

// Each moment is in one part, so they add up to the sample as long as no event
// is lost. That the events are all there, vmstat's counts tell.
void add_parts(SeriesSample& sample, const Attribution& split, double zero) {
  auto& counters = sample.counters;
  counters["part_compaction"] = as_double(split.compaction);
  counters["part_reclaim"] = as_double(split.reclaim);
  counters["part_zero"] = zero;
  counters["part_other"] = as_double(split.off_cpu() + split.interrupts);
  counters["part_rest"] = as_double(split.other_own) - zero;
  const auto put = [&](const std::string& key, std::uint64_t value) {
    if (value != 0) counters[key] = as_double(value);
  };
  put("off_kswapd", split.kswapd);
  put("off_kcompactd", split.kcompactd);
  put("off_others", split.others);
  put("off_idle", split.idle);
  put("off_interrupts", split.interrupts);
  put("compaction_wall", split.compaction_wall);
  put("reclaim_wall", split.reclaim_wall);
  put("compactions_async", split.compactions_async);
  put("compactions_sync", split.compactions_sync);
  for (const auto& [status, count] : split.compaction_status) put("compactions_" + status, count);
  put("reclaims", split.reclaims);
  put("reclaimed_pages", split.reclaimed_pages);
  put("switches", split.switches);
  put("kswapd_wakeups", split.kswapd_wakeups);
}

void pause_for(std::uint32_t ms) {
  if (ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// The measured part of one allocation.
struct Timed {
  int error = 0;
  int buffer = -1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Timed allocate(SeriesHeap& heap, TraceSession* trace) noexcept {
  Timed timed;
  if (trace == nullptr) {
    timed.begin = user_now_ns();
    timed.error = heap.try_allocate(timed.buffer);
    timed.end = user_now_ns();
    return timed;
  }
  trace->start();
  timed.begin = user_now_ns();
  timed.error = heap.try_allocate(timed.buffer);
  timed.end = user_now_ns();
  trace->stop();
  return timed;
}

SeriesSample sample_of(const Timed& timed, const SeriesHeap& heap, const SeriesPlan& plan) {
  SeriesSample sample{as_double(timed.end - timed.begin), {}};
  const auto info = heap.info(timed.buffer);
  if (info) add_info(sample, *info);
  if (plan.trace == nullptr) return sample;
  std::uint64_t lost = 0;
  const std::vector<TraceEvent> events = plan.trace->drain(lost);
  sample.counters["trace_events"] = as_double(events.size());
  sample.counters["trace_lost"] = as_double(lost);
  sample.counters["trace_overhead"] = plan.costs.per_event * as_double(events.size());
  if (lost != 0) return sample;  // parts without all of the events would be wrong
  const Attribution split = attribute(gettid(), timed.begin, timed.end, events);
  add_parts(sample, split, plan.costs.zero_per_page * as_double(plan.pages));
  if (plan.pages_traced) add_traced_chunks(sample, split, info.has_value());
  return sample;
}

}  // namespace

SeriesHeap::SeriesHeap(const HeapClient& heap, std::vector<pagemix_step> steps, std::uint64_t bytes)
    : own_(&heap),
      request_(HeapClient::request({.bytes = bytes, .steps = std::move(steps)})),
      bytes_(bytes) {}

SeriesHeap::SeriesHeap(const std::string& node, std::uint64_t bytes)
    : other_(node), bytes_(bytes) {}

int SeriesHeap::try_allocate(int& buffer) noexcept {
  if (own_ == nullptr) return other_->try_allocate(bytes_, buffer);
  const int error = own_->try_allocate(request_);
  buffer = request_.fd;
  return error;
}

std::optional<pagemix_buf_info> SeriesHeap::info(int buffer) const {
  if (own_ == nullptr) return std::nullopt;
  pagemix_buf_info info{};
  if (const int error = buffer_info(own_->fd(), buffer, info); error != 0)
    throw_errno("PAGEMIX_IOC_BUF_INFO of an allocation", error);
  return info;
}

TraceCosts measure_trace_costs(TraceSession& trace, SeriesHeap& large, SeriesHeap& small) {
  TraceCosts costs;
  std::uint64_t lost = 0;
  const auto traced = [&](SeriesHeap& heap, Timed& timed) {
    trace.drain(lost);  // what came before
    timed = allocate(heap, &trace);
    const vfio::UniqueFd buffer(timed.buffer);
    if (timed.error != 0) throw_errno("allocate 8 MiB to measure tracing", timed.error);
    std::vector<TraceEvent> events = trace.drain(lost);
    if (lost != 0) throw RunError("events lost while the cost of tracing is measured");
    return events;
  };
  Timed timed;
  trace.arm(true);
  costs.zero_per_page = zeroing_per_page(gettid(), order_of(kLargeBlock), traced(large, timed));
  if (costs.zero_per_page == 0)
    throw RunError("no block of 1 MiB among the 8 MiB allocated to time zeroing");
  // The second of two buffers finds the lists that the first has filled.
  traced(small, timed);
  const double events = as_double(traced(small, timed).size());
  const double with = as_double(timed.end - timed.begin);
  trace.disarm();
  traced(small, timed);
  if (events != 0)
    costs.per_event = std::max(0.0, (with - as_double(timed.end - timed.begin)) / events);
  return costs;
}

SeriesResult run_series(SeriesHeap& heap, const SeriesPlan& plan, const std::string& name,
                        const std::function<void()>& between) {
  std::vector<SeriesSample> series;
  std::vector<vfio::UniqueFd> buffers;
  series.reserve(plan.allocations);
  buffers.reserve(plan.allocations);
  if (plan.trace != nullptr) {
    std::uint64_t lost = 0;
    plan.trace->drain(lost);  // what came before
  }
  VmStat before = read_vmstat();
  for (std::uint32_t i = 0; i < plan.allocations; ++i) {
    if (i != 0) pause_for(plan.pause_ms);
    if (Interrupt::urgent()) throw GivenUp{};
    between();
    const Timed timed = allocate(heap, plan.trace);
    if (timed.error != 0)
      throw_measure_error("allocation " + std::to_string(i + 1) + " of " +
                              std::to_string(plan.allocations) + " of " + name +
                              " (all are freed again)",
                          timed.error);
    buffers.emplace_back(timed.buffer);
    VmStat after = read_vmstat();
    series.push_back(sample_of(timed, heap, plan));
    add_vmstat(series.back(), before, after);
    before = std::move(after);
  }
  return {std::move(series), memory_snapshot().usable};
}

}  // namespace pagemix::bench
