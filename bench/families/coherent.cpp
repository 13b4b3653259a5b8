// SPDX-License-Identifier: Apache-2.0
// coherent: the module's operations coherent_alloc and coherent_free. They
// alternate; op:<which> tells the half that is timed. Where the kernel lets
// functions be traced, the stages of dma_alloc_attrs() come from further
// allocations after the timed ones, as tracing costs something itself.
#include <pagemix.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "families/family.hpp"
#include "families/module_run.hpp"
#include "trace/attribution.hpp"
#include "trace/graph_session.hpp"
#include "trace/session.hpp"

namespace pagemix::bench {
namespace {

constexpr const char* kRoot = "dma_alloc_attrs";

// Linux 6.1 to 7.3: mm/page_alloc.c, arch/*/mm/dma-mapping.c, drivers/iommu/iommu.c,
// drivers/iommu/dma-iommu.c, kernel/dma/remap.c. Names by kernel; one of a stage is enough.
constexpr std::array kStages = {
    StageFunction{"__alloc_pages_noprof", "page_allocation"},  // 6.10
    StageFunction{"__alloc_pages", "page_allocation"},
    StageFunction{"alloc_pages_mpol_noprof", "page_allocation"},
    StageFunction{"__alloc_frozen_pages_noprof", "page_allocation"},  // 6.15
    StageFunction{"arch_dma_prep_coherent", "cache_maintenance"},
    StageFunction{"iommu_dma_alloc_iova", "iova"},
    StageFunction{"alloc_iova_fast", "iova"},
    StageFunction{"iommu_map_sg", "map"},
    StageFunction{"dma_common_pages_remap", "kernel_mapping"},
};

constexpr std::uint32_t kTracedRuns = 10;  // at most, of a case and block
constexpr std::uint64_t kBigBlocks = 2 << 20;

std::vector<Size> bytes_of(const Value& value) { return sizes(value, PAGEMIX_MAX_COHERENT); }

std::vector<std::string> attrs_of(const Value& value) {
  return words(value,
               std::vector<std::string>{"default", "single_pages", "no_kernel_mapping", "zero"});
}

std::uint64_t attrs_value(const std::string& name) {
  if (name == "single_pages") return PAGEMIX_COHERENT_SINGLE_PAGES;
  if (name == "no_kernel_mapping") return PAGEMIX_COHERENT_NO_KERNEL_MAPPING;
  return name == "zero" ? PAGEMIX_COHERENT_ZERO : 0;
}

TargetClient::Run request_of(const char* operation, std::uint64_t bytes, std::uint64_t attrs) {
  TargetClient::Run run{.operation = operation};
  run.params[PAGEMIX_COHERENT_BYTES] = bytes;
  run.params[PAGEMIX_COHERENT_ATTRS] = attrs;
  return run;
}

class Coherent final : public Family {
 public:
  explicit Coherent(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    if (const auto missing =
            missing_operation(services_.device->module(), {"coherent_alloc", "coherent_free"}))
      return missing;
    try {
      std::vector<std::string> functions = {kRoot};
      for (const StageFunction& stage : kStages) functions.emplace_back(stage.function);
      graph_ = std::make_unique<GraphSession>(functions);
    } catch (const RunError& error) {
      no_stages_ = error.what();
      return std::nullopt;
    }
    try {
      zero_per_page_ = measure_zeroing();
      if (zero_per_page_ == 0) no_zeroing_ = "no event of a large block was seen";
    } catch (const RunError& error) {
      no_zeroing_ = error.what();
    }
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const std::string operation = "coherent_" + item.part("op");
    TargetClient::Run run =
        request_of(operation.c_str(), item.bytes(), attrs_value(item.part("attrs")));
    const ModuleRun done = run_module(services_, run, item.name(), block);
    Measurement result;
    result.samples = done.samples;
    result.counters["iova"] = static_cast<double>(done.iova);
    result.counters["coherent"] = services_.device->module().info().coherent;
    if (item.part("op") != "alloc") return result;
    if (!no_stages_.empty()) result.skipped.push_back({"coherent stages", no_stages_});
    if (!no_zeroing_.empty()) result.skipped.push_back({"coherent stage zeroing", no_zeroing_});
    if (graph_) add_stages(result, run, item.bytes());
    return result;
  }

 private:
  // Untimed repetitions of it.
  void repeat(TargetClient::Run run, std::uint32_t repetitions) const {
    run.repetitions = repetitions;
    pagemix_target_run request = TargetClient::request(run);
    if (const int error = services_.device->module().try_run(request))
      throw_measure_error(std::string("trace ") + run.operation, error);
  }

  // No function zeroes a page: the compiler makes it part of its callers. The page
  // allocator's events around it tell, of blocks large enough for nothing else.
  double measure_zeroing() const {
    TraceSession events;
    events.arm(true);
    events.start();
    repeat(request_of("coherent_alloc", kBigBlocks, 0), repetitions());
    events.stop();
    std::uint64_t lost = 0;
    return zeroing_per_page(gettid(), 4, events.drain(lost));
  }

  std::uint32_t repetitions() const { return std::min(services_.profile.iterations, kTracedRuns); }

  // A call at a time: many pages a call would fill the buffer of events.
  StageTimes trace(const TargetClient::Run& run) {
    StageTimes sum;
    for (std::uint32_t i = 0; i < repetitions(); ++i) {
      graph_->start();
      repeat(run, 1);
      graph_->stop();
      std::uint64_t lost = 0;
      const std::vector<CallEvent> events = graph_->drain(lost);
      if (lost != 0) throw RunError("trace " + std::string(run.operation) + ": events were lost");
      sum += stage_times(gettid(), events, graph_->functions(), kRoot, kStages);
    }
    if (sum.calls == 0) throw RunError("trace " + std::string(run.operation) + ": no call seen");
    return sum;
  }

  void add_stages(Measurement& result, const TargetClient::Run& run, std::uint64_t bytes) {
    const StageTimes times = trace(run);
    const auto calls = static_cast<double>(times.calls);
    double rest = times.total;
    for (const StageFunction& stage : kStages)
      result.counters[std::string("stage_") + stage.stage] = 0;
    for (const auto& [stage, ns] : times.parts) {
      result.counters["stage_" + stage] = ns / calls;
      rest -= ns;
    }
    result.counters["stage_other"] = rest / calls;
    result.counters["stage_total"] = times.total / calls;
    if (zero_per_page_ > 0)
      result.counters["stage_zeroing"] =
          zero_per_page_ * static_cast<double>(bytes / static_cast<std::uint64_t>(getpagesize()));
  }

  Services services_;
  std::unique_ptr<GraphSession> graph_;
  std::string no_stages_;   // why, if so
  std::string no_zeroing_;  // the same
  double zero_per_page_ = 0;
};

constexpr Key<bytes_of> kBytes{"coherent_bytes", "4K 64K 1M 10M 32M", "coherent: sizes, 4K..32M"};
constexpr Key<attrs_of> kAttrs{
    "coherent_attrs", "default single_pages no_kernel_mapping",
    "coherent: default, zero (__GFP_ZERO), and DMA_ATTR_ALLOC_SINGLE_PAGES and "
    "_NO_KERNEL_MAPPING as single_pages, no_kernel_mapping"};

const RegisterFamilies kRegistered({
    {.name = "coherent",
     .help = "dma_alloc_attrs() and dma_free_attrs() (in the module)",
     .group = Group::kModule,
     .axes = {axis::values("bytes", kBytes), axis::values("attrs", kAttrs),
              axis::words("op", {"alloc", "free"}), axis::domain},
     .parts = {"bytes", "attrs", "op", "domain"},
     .keys = {&kBytes, &kAttrs},
     .make = make_family<Coherent>},
});

}  // namespace

}  // namespace pagemix::bench
