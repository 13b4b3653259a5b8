// SPDX-License-Identifier: Apache-2.0
#include "families/family.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "pagemix/vfio/iommu/backend.hpp"

namespace pagemix::bench {

std::unique_ptr<Family> make_family(const std::string& name, const Services& services) {
  if (name == "alloc" || name == "free") return make_alloc(services);
  if (name == "alloc_series") return make_alloc_series(services);
  if (name == "order_speed") return make_order_speed(services);
  if (is_buffer_operation(name)) return make_buffer_operation(name, services);
  if (name == "coherent") return make_coherent(services);
  if (name == "dma_pool") return make_dma_pool(services);
  if (name == "vfio_map" || name == "vfio_unmap") return make_vfio_map(services);
  if (name == "file_map" || name == "file_unmap") return make_file_map(services);
  if (name == "sample_cost") return make_sample_cost(services);
  if (name == "sync") return make_sync(services);
  if (name == "import") return make_import(services);
  if (name == "use_stream") return make_use_stream(services);
  if (name == "use_random") return make_use_random(services);
  if (name == "use_column") return make_use_column(services);
  if (name == "use_pipeline") return make_use_pipeline(services);
  return nullptr;
}

void add_buffer_counters(Measurement& measurement, const pagemix_buf_info& info) {
  add_buffer_counters(measurement.counters, info);
}

void add_leaf_counters(Measurement& measurement, std::span<const PageCall> map_calls,
                       std::span<const PageCall> unmap_calls, std::uint64_t iova) {
  for (const auto& [bytes, count] : count_leaves(map_calls))
    measurement.counters["leaves_" + std::to_string(bytes)] = static_cast<double>(count);
  measurement.counters["map_calls"] = static_cast<double>(map_calls.size());
  measurement.counters["unmap_calls"] = static_cast<double>(unmap_calls.size());
  measurement.counters["iova"] = static_cast<double>(iova);
}

void add_smmu_counters(Measurement& measurement, const Invalidations& predicted) {
  measurement.counters["tlbi_predicted"] = static_cast<double>(predicted.tlbi);
  measurement.counters["sync_predicted"] = static_cast<double>(predicted.sync);
}

StateSpec state_spec(const Services& services, const Case& item, std::uint32_t block) {
  return {.state = item.part("memory"),
          .seed = services.profile.seed + block,
          .heap = item.part("heap").empty() ? kHeapNode : item.part("heap"),
          .unusable = services.profile.unusable,
          .limit = std::chrono::seconds(services.profile.state_limit),
          .cache_source = services.profile.cache_source};
}

std::optional<SmmuRules> smmu_rules(const Services& services) {
  const vfio::pci::DeviceInfo& device = services.device->device();
  if (iommu_driver(device) != "arm-smmu-v3") return std::nullopt;
  return SmmuRules{.range_commands = true,
                   .gathers_tables = services.kernel >= KernelVersion{6, 12},
                   .lazy = domain_mode(device) == "lazy"};
}

bool behind_vtd(const Services& services) {
  return iommu_driver(services.device->device()) == "intel-iommu";
}

UnmapRules unmap_rules(const vfio::pci::DeviceInfo& device, KernelVersion kernel,
                       std::uint64_t page_sizes) {
  const std::uint64_t granule = page_sizes & (~page_sizes + 1);
  return {.whole_requests = iommu_driver(device) == "virtio-iommu",
          .page_by_page = (page_sizes & (granule << 1)) != 0 && kernel < KernelVersion{6, 16}};
}

UnmapRules unmap_rules(const Services& services, std::uint64_t page_sizes) {
  return unmap_rules(services.device->device(), services.kernel, page_sizes);
}

VfioPlan plan_vfio(std::span<const pagemix_run> runs, std::uint64_t iova,
                   const vfio::iommu::AddressSpace& space, UnmapRules rules) {
  const std::uint64_t sizes = space.page_sizes();
  const vfio::iommu::MappingRules backend = space.rules();
  if (backend.runs_per_unmap > 1) rules.page_by_page = false;  // type1's alone
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  VfioPlan plan;
  plan.map_calls = backend.map_by_page ? plan_map_by_page(runs, iova, sizes, page_bytes)
                                       : plan_map(runs, iova, sizes);
  plan.unmap_calls = plan_unmap_vfio(runs, plan.map_calls, sizes, rules, backend);
  return plan;
}

void predict_vfio(Measurement& measurement, const Services& services,
                  std::span<const pagemix_run> runs, std::uint64_t iova,
                  const vfio::iommu::AddressSpace& space) {
  const std::uint64_t sizes = space.page_sizes();
  const vfio::iommu::MappingRules backend = space.rules();
  const auto [map_calls, unmap_calls] = plan_vfio(runs, iova, space, unmap_rules(services, sizes));
  add_leaf_counters(measurement, map_calls, unmap_calls, iova);
  if (auto rules = smmu_rules(services)) {
    rules->lazy = false;  // VFIO domains are never lazy
    add_smmu_counters(measurement, predict_smmuv3_vfio(runs, map_calls, sizes, *rules, backend));
  }
  if (behind_vtd(services)) {
    const Invalidations predicted = predict_vtd_vfio(runs, map_calls, sizes, backend);
    measurement.counters["vtd_inv_predicted"] = static_cast<double>(predicted.tlbi);
  }
}

std::optional<Skipped> missing_backend(const Case& item) {
  if (item.backend().empty()) return std::nullopt;
  const std::string why = vfio::iommu::backend_missing(item.backend());
  if (why.empty()) return std::nullopt;
  return Skipped{"backend:" + item.backend(), why};
}

}  // namespace pagemix::bench
