// SPDX-License-Identifier: Apache-2.0
// alloc_series: buffers one after the other, all held to the end, in a state of
// memory made for each series. Cost as user space sees it, chunks obtained, what
// the kernel had to do, and where the time went.
#include <algorithm>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "families/family.hpp"
#include "families/memory_state.hpp"
#include "pressure/series.hpp"
#include "trace/attribution.hpp"

namespace pagemix::bench {
namespace {

std::vector<std::string> heaps_of(const Value& value) {
  const std::string allowed = "paths such as /dev/dma_heap/system";
  const std::vector<std::string> given = any_words(value, allowed);
  for (const std::string& word : given)
    if (!word.starts_with('/') || word.ends_with('/'))
      value.reject("\"" + word + "\" is no node", allowed);
  return given;
}

std::vector<std::string> traces_of(const Value& value) {
  const std::vector<std::string> given =
      words(value, std::vector<std::string>{"auto", "on", "off"});
  if (given.size() > 1 && std::ranges::count(given, "auto") != 0)
    value.reject("auto beside another value", "auto; on; off; on off");
  return given;
}

std::uint32_t allocations_of(const Value& value) {
  return static_cast<std::uint32_t>(number(value, 1, 4096));
}

// nullopt: by the clock
std::optional<std::uint32_t> pause_of(const Value& value) {
  if (value.text == "auto") return std::nullopt;
  return static_cast<std::uint32_t>(number(value, 0, 60000));
}

constexpr Key<heaps_of> kHeap{
    "heap", kHeapNode,
    "alloc_series: heaps, by node; one that is not pagemix has a mix of its own"};
constexpr Key<traces_of> kTrace{
    "trace", "auto", "alloc_series: attribution by trace events: auto (when possible), on, off"};
constexpr Key<allocations_of> kAllocations{"allocations", "16",
                                           "alloc_series: buffers of a series, all held, 1..4096"};
constexpr Key<pause_of> kPause{
    "pause", "auto",
    "alloc_series: ms between two allocations, 0..60000; auto: 1000, 0 in an emulator"};

class AllocSeries final : public Family {
 public:
  explicit AllocSeries(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override;
  Measurement measure(const Case& item, std::uint32_t block) override;

 private:
  bool other_heaps() const {
    return std::ranges::any_of(kHeap.of(services_.profile),
                               [](const std::string& node) { return node != kHeapNode; });
  }
  SeriesHeap heap_for(const Case& item) const;
  SeriesPlan plan_for(const Case& item);
  void calibrate();
  std::uint32_t pause_ms() const;

  Services services_;
  std::unique_ptr<TraceSession> trace_;
  std::string no_trace_;  // why, if it was asked for as "auto"
  TraceCosts costs_;
};

std::optional<std::string> AllocSeries::prepare() {
  for (const std::string& node : kHeap.of(services_.profile))
    if (node != kHeapNode) DmaHeap{node};  // its error says which heaps there are
  const std::vector<std::string> wanted = kTrace.of(services_.profile);
  if (wanted.size() == 1 && wanted.front() == "off") return std::nullopt;
  try {
    trace_ = std::make_unique<TraceSession>();
    calibrate();
  } catch (const RunError& error) {
    trace_.reset();
    if (wanted.front() != "auto") throw;
    no_trace_ = error.what();
  }
  return std::nullopt;
}

// On fresh memory: a heap whose mix is known gives large blocks, and single pages.
void AllocSeries::calibrate() {
  const auto heap_of = [&](unsigned order) -> SeriesHeap {
    constexpr std::uint64_t kBytes = 8 << 20;
    if (services_.heap == nullptr) return {kHeap.of(services_.profile).front(), kBytes};
    return {*services_.heap, {{order, PAGEMIX_GFP_MID}}, kBytes};
  };
  SeriesHeap large = heap_of(order_of(kLargeBlock));
  SeriesHeap small = heap_of(0);
  settle_memory();
  costs_ = measure_trace_costs(*trace_, large, small);
}

std::uint32_t AllocSeries::pause_ms() const {
  if (const auto given = kPause.of(services_.profile)) return *given;
  return services_.clock == ClockKind::kHardwareNs ? 1000 : 0;
}

SeriesHeap AllocSeries::heap_for(const Case& item) const {
  if (item.part("heap") != kHeapNode) return {item.part("heap"), item.bytes()};
  return {*services_.heap, services_.mixes.at(item.mix()).steps, item.bytes()};
}

SeriesPlan AllocSeries::plan_for(const Case& item) {
  SeriesPlan plan{.allocations = kAllocations.of(services_.profile),
                  .pause_ms = pause_ms(),
                  .costs = costs_,
                  .pages = item.bytes() / static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
  if (item.part("trace") == "off" || !trace_) return plan;
  plan.trace = trace_.get();
  // Where one heap needs the page events to tell its chunks, all have them, so
  // that they compare.
  plan.pages_traced = other_heaps();
  return plan;
}

Measurement AllocSeries::measure(const Case& item, std::uint32_t block) {
  SeriesHeap heap = heap_for(item);
  const SeriesPlan plan = plan_for(item);
  MemoryState state(state_spec(services_, item, block), [](const std::string&) {});
  if (plan.trace != nullptr)
    trace_->arm(plan.pages_traced);
  else if (trace_)
    trace_->disarm();
  const std::string name = item.name();
  const SeriesResult done = run_series(heap, plan, name, [&state] { state.check(); });
  state.check();
  const std::vector<SeriesSample>& series = done.samples;

  Measurement result;
  const auto keep = [&](const char* key, const FreeBlocks& free) {
    result.arrays[key].assign(free.blocks.begin(), free.blocks.end());
  };
  keep("free_blocks_before", state.reached().usable);
  keep("free_blocks_after", done.free_after);
  for (std::size_t i = 0; i < series.size(); ++i) {
    result.samples.push_back(series[i].cost);
    result.entries.push_back({"/allocation:" + std::to_string(i + 1), series[i].counters});
  }
  if (plan.trace != nullptr) result.counters["zero_per_page"] = costs_.zero_per_page;
  if (!no_trace_.empty()) result.skipped.push_back({"attribution", no_trace_});
  return result;
}

// A heap of the kernel has one mix, its own.
std::vector<Parts> mix_of_heap(const Profile& profile, const Case& item) {
  if (item.part("heap") != kHeapNode) return {{{"mix", kOwnMix}}};
  return axis::mix(profile, item);
}

std::vector<Parts> heaps(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const std::string& node : kHeap.of(profile))
    found.push_back({{"heap", node, node.substr(node.rfind('/') + 1)}});
  return found;
}

// Only what was left out is named.
std::vector<Parts> traces(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const std::string& trace : kTrace.of(profile))
    found.push_back({{"trace", trace, trace == "off" ? trace : ""}});
  return found;
}

const RegisterFamilies kRegistered({
    {.name = "alloc_series",
     .help = "buffers one after the other, all held, in a state of memory",
     .axes = {axis::bytes, memory_axis, heaps, traces, mix_of_heap},
     .parts = {"mix", "heap", "memory", "bytes", "trace"},
     .keys = with_memory_keys({&kHeap, &kTrace, &kAllocations, &kPause}),
     .make = make_family<AllocSeries>},
});

}  // namespace

}  // namespace pagemix::bench
