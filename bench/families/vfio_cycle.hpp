// SPDX-License-Identifier: Apache-2.0
// Map and unmap by VFIO in turns, one of them timed, for the families that do so.
#pragma once

#include <utility>

#include "families/family.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {

/// The profile's direction, as VFIO wants it.
inline vfio::iommu::Access access_value(const std::string& direction) {
  if (direction == "to_device") return vfio::iommu::Access::read;
  if (direction == "from_device") return vfio::iommu::Access::write;
  return vfio::iommu::Access::read_write;
}

/// What one map/unmap cycle took and how it ended.
struct VfioCycle {
  std::uint64_t map_ns = 0;
  std::uint64_t unmap_ns = 0;
  int error = 0;  ///< positive errno value
};

/// @p map returns 0 or a negative errno value, as AddressSpace::try_map() does.
template <typename Map>
VfioCycle vfio_cycle(vfio::iommu::AddressSpace& space, std::uint64_t iova, std::uint64_t bytes,
                     const Map& map) noexcept {
  VfioCycle result;
  const std::uint64_t begin = user_now_ns();
  result.error = -map();
  const std::uint64_t mapped = user_now_ns();
  if (result.error != 0) return result;
  const std::uint64_t again = user_now_ns();
  const vfio::iommu::UnmapResult unmapped = space.try_unmap(iova, bytes);
  const std::uint64_t end = user_now_ns();
  result.map_ns = mapped - begin;
  result.unmap_ns = end - again;
  result.error = -unmapped.error;
  return result;
}

/// The profile's warm-up and repetitions, the latter between markers. Samples of
/// the map or the unmap, and 0 or the errno value that ended them.
template <typename Map>
std::pair<std::vector<double>, int> measure_cycles(const Services& services, const Case& item,
                                                   std::uint32_t block,
                                                   vfio::iommu::AddressSpace& space,
                                                   std::uint64_t iova, std::uint64_t bytes,
                                                   bool wants_map, const Map& map) {
  const std::string name = item.name();
  const std::uint32_t iterations = services.profile.iterations;
  std::vector<double> samples(iterations);
  int error = 0;
  for (std::uint32_t i = 0; i < services.profile.warmup && error == 0; ++i)
    error = vfio_cycle(space, iova, bytes, map).error;
  if (error != 0) return {{}, error};
  services.marker.begin(name, block);
  for (std::uint32_t i = 0; i < iterations && error == 0; ++i) {
    const VfioCycle took = vfio_cycle(space, iova, bytes, map);
    samples[i] = static_cast<double>(wants_map ? took.map_ns : took.unmap_ns);
    error = took.error;
  }
  services.marker.end(name, block, iterations);
  return {std::move(samples), error};
}

}  // namespace pagemix::bench
