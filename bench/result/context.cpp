// SPDX-License-Identifier: Apache-2.0
#include "result/context.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "machine/environment.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "result/statistics.hpp"
#include "revision.hpp"

namespace pagemix::bench {
namespace {

using nlohmann::ordered_json;

// The mode of the numbers: the machine's own, unless others were measured instead.
std::string main_domain_mode(const RunContext& run) {
  const std::string own = domain_mode(*run.device);
  const auto& measured = run.domain_modes;
  return measured.empty() || std::ranges::count(measured, own) != 0 ? own : measured.front();
}

ordered_json iommu_json(const RunContext& run) {
  if (!run.device)
    return {{"driver", nullptr},
            {"device", nullptr},
            {"pgsize_bitmap", nullptr},
            {"granule", nullptr},
            {"domain_mode", "none"}};
  ordered_json json = {{"driver", iommu_driver(*run.device)},
                       {"device", run.device->iommu_device},
                       {"pgsize_bitmap", nullptr},
                       {"granule", nullptr},
                       {"domain_mode", main_domain_mode(run)}};
  if (!run.domain_modes.empty()) {
    json["domain_modes"] = run.domain_modes;
    json["domain_found"] = domain_mode(*run.device);
  }
  if (vfio::iommu::type1_huge_pages_disabled()) json["type1_disable_hugepages"] = true;
  if (const std::uint64_t sizes = run.domain.page_sizes; sizes != 0) {
    json["pgsize_bitmap"] = format_hex(sizes);
    json["granule"] = sizes & (~sizes + 1);
  }
  return json;
}

ordered_json target_json(const RunContext& run) {
  if (!run.device) return nullptr;
  ordered_json json = {{"device", run.device->bdf.text()}, {"id", run.device->id()}};
  json["coherent"] = run.domain.coherent ? ordered_json(*run.domain.coherent) : nullptr;
  return json;
}

}  // namespace

ClockFacts user_clock_facts() {
  std::vector<double> pairs;
  double step = 0;
  for (int i = 0; i < 1001; ++i) {
    const std::uint64_t begin = user_now_ns();
    const std::uint64_t end = user_now_ns();
    pairs.push_back(static_cast<double>(end - begin));
    if (end != begin) step = step == 0 ? pairs.back() : std::min(step, pairs.back());
  }
  return {"CLOCK_MONOTONIC_RAW", step, summarize(pairs).median};
}

ordered_json RunContext::context(bool complete) const {
  ordered_json json;
  json["schema"] = 1;
  json["complete"] = complete;
  if (!stopped.empty()) json["stopped"] = stopped;
  json["clock"] = {{"kind", to_string(clock)},
                   {"source", clock_facts.source},
                   {"resolution", clock_facts.resolution},
                   {"overhead", clock_facts.overhead}};
  json["iommu"] = iommu_json(*this);
  json["kernel"] = kernel_json();
  json["machine"] = machine;
  json["cpu"] = cpu_json();
  json["target"] = target_json(*this);
  json["drive"] = drive;
  json["iommu_counters"] = counters;
  json["module"] = {
      {"version", module_version.empty() ? ordered_json(nullptr) : ordered_json(module_version)}};
  json["git"] = kSourceRevision;
  json["profile"] = profile_name;
  json["config"] = ordered_json::object();
  for (const auto& [key, value] : profile.values) json["config"]["run." + key] = value.text;
  for (const Mix& mix : mixes)
    if (std::ranges::find(profile.mixes, mix.name) != profile.mixes.end())
      json["mixes"][mix.name] = format_steps(mix);
  json["command"] = command;
  json["seed"] = profile.seed;
  json["buddyinfo"] = {{"before", buddyinfo_before}, {"after", buddyinfo_json()}};
  json["meminfo"] = {{"before", meminfo_before}, {"after", meminfo_json()}};
  json["started"] = started;
  return json;
}

}  // namespace pagemix::bench
