// SPDX-License-Identifier: Apache-2.0
#include "families/family.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "pagemix/vfio/iommu/backend.hpp"

namespace pagemix::bench {

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
