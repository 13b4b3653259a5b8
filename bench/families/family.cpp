// SPDX-License-Identifier: Apache-2.0
#include "families/family.hpp"

#include "error.hpp"
#include "interrupt.hpp"

namespace pagemix::bench {

std::unique_ptr<Family> make_family(const std::string& name, const Services& services) {
  if (name == "alloc") return make_alloc(services);
  if (name == "alloc_series") return make_alloc_series(services);
  if (name == "order_speed") return make_order_speed(services);
  if (name == "map_sgtable" || name == "unmap_sgtable") return make_map(services);
  if (name == "vfio_map" || name == "vfio_unmap") return make_vfio_map(services);
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
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order)
    if (info.chunks[order] != 0)
      measurement.counters["chunks_order" + std::to_string(order)] =
          static_cast<double>(info.chunks[order]);
  measurement.counters["runs"] = static_cast<double>(info.nr_runs);
}

void add_leaf_counters(Measurement& measurement, std::span<const PageCall> map_calls,
                       std::span<const PageCall> unmap_calls, std::uint64_t iova) {
  for (const auto& [bytes, count] : count_leaves(map_calls))
    measurement.counters["leaves_" + std::to_string(bytes)] = static_cast<double>(count);
  measurement.counters["map_calls"] = static_cast<double>(map_calls.size());
  measurement.counters["unmap_calls"] = static_cast<double>(unmap_calls.size());
  measurement.counters["iova"] = static_cast<double>(iova);
}

std::optional<SmmuRules> smmu_rules(const Services& services) {
  const vfio::pci::DeviceInfo& device = services.device->device();
  if (iommu_driver(device) != "arm-smmu-v3") return std::nullopt;
  return SmmuRules{.range_commands = true,
                   .gathers_tables = services.kernel >= KernelVersion{6, 12},
                   .lazy = domain_mode(device) == "lazy"};
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

void throw_measure_error(const std::string& what, int error) {
  if (error == EINTR && Interrupt::urgent()) throw GivenUp{};
  throw_errno(what, error);
}

}  // namespace pagemix::bench
