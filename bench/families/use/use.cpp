// SPDX-License-Identifier: Apache-2.0
#include "families/use/use.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "pagemix/vfio/error.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {

std::optional<std::string> UseFamily::prepare() {
  try {
    const Drive& drive = services_.drive->open();
    if (needs_compare() && !drive.compares())
      return drive.device().bdf.text() + " does not support Compare, by which a drive reads memory";
  } catch (const vfio::DeviceInUse&) {
    throw;
  } catch (const vfio::Error& error) {
    return error.what();
  }
  return std::nullopt;
}

Measurement UseFamily::measure(const Case& item, std::uint32_t block) {
  try {
    Drive& drive = services_.drive->open(item.backend());
    Measurement result = measure_drive(drive, item, block);
    drive.check_faults();
    return result;
  } catch (const vfio::Error&) {
    services_.drive->release();
    throw;
  }
}

Measurement UseFamily::measure_passes(const Case& item, std::uint32_t block, const Passes& passes,
                                      std::uint32_t first) const {
  const std::string name = item.name();
  Measurement result;
  result.samples.resize(services_.profile.iterations);
  std::uint32_t number = first;
  services_.marker.begin(name, block);
  for (double& sample : result.samples) {
    if (passes.prepare) passes.prepare(number);
    const std::uint64_t begin = user_now_ns();
    passes.run(number);
    const std::uint64_t end = user_now_ns();
    sample = static_cast<double>(end - begin);
    ++number;
  }
  services_.marker.end(name, block, services_.profile.iterations);
  if (passes.report) passes.report(result);
  if (services_.counters == nullptr) return result;
  for (const auto& [column, count] : services_.counters->count_all(
           [&] {
             if (passes.prepare) passes.prepare(number);
           },
           [&] { passes.run(number++); }))
    result.counters[column] = count;
  return result;
}

void UseFamily::transfer(Drive& drive, std::span<const Access> accesses, Move move,
                         std::uint64_t iova, std::uint32_t depth) const {
  if (drive.transfer(accesses, move, iova, depth) != 0) throw GivenUp{};
}

void UseFamily::require_namespace(const Drive& drive, std::uint64_t bytes) const {
  if (drive.namespace_bytes() < bytes)
    throw RunError("the drive's namespace has " + format_size(drive.namespace_bytes()) +
                   ", less than the buffer of " + format_size(bytes));
}

void UseFamily::add_mapping_counters(Measurement& result, Drive& drive, const PooledBuffer& pooled,
                                     std::uint64_t iova) const {
  const auto [map_calls, unmap_calls] =
      plan_vfio(pooled.runs, iova, drive.space(),
                unmap_rules(drive.device(), services_.kernel, drive.space().page_sizes()));
  add_buffer_counters(result, pooled.info);
  add_leaf_counters(result, map_calls, unmap_calls, iova);
}

void UseFamily::add_access_counters(Measurement& result, std::uint64_t accesses,
                                    std::uint64_t bytes) const {
  const double median = summarize(result.samples).median;
  result.counters["accesses"] = static_cast<double>(accesses);
  result.counters["dma_bytes"] = static_cast<double>(bytes);
  result.counters["access_cost"] = median / static_cast<double>(accesses);
  if (services_.clock == ClockKind::kHardwareNs && median > 0)
    result.counters["bytes_per_second"] = static_cast<double>(bytes) * 1e9 / median;
}

}  // namespace pagemix::bench
