// SPDX-License-Identifier: Apache-2.0
#include "pressure/series.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>
#include <thread>

#include "clock.hpp"
#include "error.hpp"
#include "families/family.hpp"
#include "interrupt.hpp"
#include "text.hpp"
#include "trace/attribution.hpp"

namespace pagemix::bench {
namespace {

// Time on the CPU by the scheduler's account, which knows nothing of tracing:
// that the parts add up is no tautology.
std::uint64_t thread_cpu_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

VmStat vmstat_now() { return parse_vmstat(vfio::read_text("/proc/vmstat").value_or("")); }

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
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order) {
    const std::string suffix = "_order" + std::to_string(order);
    if (info.chunks[order] != 0) sample.counters["chunks" + suffix] = as_double(info.chunks[order]);
    if (info.order_fails[order] != 0)
      sample.counters["fails" + suffix] = as_double(info.order_fails[order]);
    if (info.order_ns[order] != 0) sample.counters["ns" + suffix] = as_double(info.order_ns[order]);
  }
  sample.counters["runs"] = as_double(info.nr_runs);
}

void add_traced_chunks(SeriesSample& sample, const Attribution& attribution, bool told) {
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order) {
    if (attribution.chunks[order] == 0) continue;
    const double chunks = as_double(attribution.chunks[order]);
    sample.counters["traced_chunks_order" + std::to_string(order)] = chunks;
    if (!told) sample.counters["chunks_order" + std::to_string(order)] = chunks;
  }
}

void add_parts(SeriesSample& sample, const Attribution& split, double cpu, double zero) {
  auto& counters = sample.counters;
  counters["part_compaction"] = as_double(split.compaction);
  counters["part_reclaim"] = as_double(split.reclaim);
  counters["part_zero"] = zero;
  counters["part_other"] = as_double(split.off_cpu());
  counters["part_rest"] = cpu - as_double(split.compaction + split.reclaim) - zero;
  counters["cpu_time"] = cpu;
  counters["off_kswapd"] = as_double(split.kswapd);
  counters["off_kcompactd"] = as_double(split.kcompactd);
  counters["off_others"] = as_double(split.others);
  counters["off_idle"] = as_double(split.idle);
  counters["compaction_wall"] = as_double(split.compaction_wall);
  counters["reclaim_wall"] = as_double(split.reclaim_wall);
  counters["compactions_async"] = as_double(split.compactions_async);
  counters["compactions_sync"] = as_double(split.compactions_sync);
  for (const auto& [status, count] : split.compaction_status)
    counters["compactions_" + status] = as_double(count);
  counters["reclaims"] = as_double(split.reclaims);
  counters["reclaimed_pages"] = as_double(split.reclaimed_pages);
  counters["switches"] = as_double(split.switches);
  counters["kswapd_wakeups"] = as_double(split.kswapd_wakeups);
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
  std::uint64_t cpu = 0;
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
  const std::uint64_t cpu = thread_cpu_ns();
  timed.begin = user_now_ns();
  timed.error = heap.try_allocate(timed.buffer);
  timed.end = user_now_ns();
  timed.cpu = thread_cpu_ns() - cpu;
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
  if (lost != 0) return sample;  // parts without all of the events would be wrong
  const Attribution split = attribute(gettid(), timed.begin, timed.end, events);
  add_parts(sample, split, as_double(timed.cpu), plan.zero_per_page * as_double(plan.pages));
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
  info.version = PAGEMIX_UAPI_VERSION;
  info.fd = buffer;
  if (ioctl(own_->fd(), PAGEMIX_IOC_BUF_INFO, &info) != 0)
    throw_errno("PAGEMIX_IOC_BUF_INFO of an allocation");
  return info;
}

std::vector<SeriesSample> run_series(SeriesHeap& heap, const SeriesPlan& plan,
                                     const std::string& name,
                                     const std::function<void()>& between) {
  std::vector<SeriesSample> series;
  std::vector<vfio::UniqueFd> buffers;
  series.reserve(plan.allocations);
  buffers.reserve(plan.allocations);
  if (plan.trace != nullptr) {
    std::uint64_t lost = 0;
    plan.trace->drain(lost);  // what came before
  }
  VmStat before = vmstat_now();
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
    VmStat after = vmstat_now();
    series.push_back(sample_of(timed, heap, plan));
    add_vmstat(series.back(), before, after);
    before = std::move(after);
  }
  return series;
}

std::string format_series(const std::string& name, std::uint32_t block,
                          const std::vector<SeriesSample>& series, const std::string& unit) {
  std::set<unsigned, std::greater<>> orders;
  bool split = false;
  for (const SeriesSample& sample : series) {
    for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order)
      if (sample.counters.contains("chunks_order" + std::to_string(order))) orders.insert(order);
    split = split || sample.counters.contains("part_rest");
  }
  std::vector<std::string> columns;
  std::string text = name + ", set " + std::to_string(block + 1) + ", " + unit + "\n";
  std::string header = "  #         cost";
  for (const unsigned order : orders) {
    columns.push_back("chunks_order" + std::to_string(order));
    header += "   order " + std::to_string(order) + (order < 10 ? " " : "");
  }
  if (split)
    for (const char* part : {"compaction", "reclaim", "zero", "other", "rest"}) {
      columns.push_back(std::string("part_") + part);
      char cell[32];
      std::snprintf(cell, sizeof(cell), " %11s", part);
      header += cell;
    }
  text += header + "\n";
  for (std::size_t i = 0; i < series.size(); ++i) {
    char cell[48];
    std::snprintf(cell, sizeof(cell), "%3zu %12.0f", i + 1, series[i].cost);
    text += cell;
    for (const std::string& column : columns) {
      const auto value = series[i].counters.find(column);
      std::snprintf(cell, sizeof(cell), column.starts_with("part_") ? " %11.0f" : " %10.0f",
                    value == series[i].counters.end() ? 0.0 : value->second);
      text += cell;
    }
    text += "\n";
  }
  return text + "\n";
}

}  // namespace pagemix::bench
