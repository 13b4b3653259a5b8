// SPDX-License-Identifier: Apache-2.0
// vfio_map, vfio_unmap: VFIO_IOMMU_MAP_DMA and UNMAP_DMA of a heap buffer as
// user space sees them. Every page is present before, so that the map's cost is
// pinning and mapping, not faulting. One cycle a repetition; one half is timed.
#include <optional>

#include "clock.hpp"
#include "error.hpp"
#include "families/family.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/iova.hpp"

namespace pagemix::bench {
namespace {

namespace iommu = vfio::iommu;

iommu::Access access_value(const std::string& direction) {
  if (direction == "to_device") return iommu::Access::read;
  if (direction == "from_device") return iommu::Access::write;
  return iommu::Access::read_write;
}

// What one map/unmap cycle took and how it ended.
struct Cycle {
  std::uint64_t map_ns = 0;
  std::uint64_t unmap_ns = 0;
  int error = 0;  // positive errno value
};

Cycle cycle(iommu::AddressSpace& space, std::span<const std::byte> memory, std::uint64_t iova,
            iommu::Access access) noexcept {
  Cycle result;
  const std::uint64_t begin = user_now_ns();
  result.error = -space.try_map(memory, iova, access);
  const std::uint64_t mapped = user_now_ns();
  if (result.error != 0) return result;
  const std::uint64_t again = user_now_ns();
  const iommu::UnmapResult unmapped = space.try_unmap(iova, memory.size());
  const std::uint64_t end = user_now_ns();
  result.map_ns = mapped - begin;
  result.unmap_ns = end - again;
  result.error = -unmapped.error;
  return result;
}

class VfioMap final : public Family {
 public:
  explicit VfioMap(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    try {
      services_.device->vfio();
    } catch (const vfio::DeviceInUse&) {
      throw;
    } catch (const vfio::Error& error) {
      return error.what();
    }
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    iommu::AddressSpace& space = services_.device->vfio();
    const PooledBuffer& pooled = services_.pool->get(item);
    const vfio::MappedMemory memory = pooled.buffer.map_prefaulted(item.bytes);
    iommu::IovaAllocator allocator(space.iova_ranges(), space.granule());
    const std::uint64_t iova =
        allocator.allocate(item.bytes, iommu::leaf_alignment(space.page_sizes(), item.bytes));
    const iommu::Access access = access_value(services_.profile.direction);
    const std::string name = item.name();
    const bool wants_map = item.family == "vfio_map";
    const std::uint32_t iterations = services_.profile.iterations;

    Measurement result;
    result.samples.resize(iterations);
    int error = 0;
    for (std::uint32_t i = 0; i < services_.profile.warmup && error == 0; ++i)
      error = cycle(space, memory.bytes(), iova, access).error;
    if (error != 0) fail(space, memory.bytes(), iova, access, "warm up " + name, error);
    services_.marker.begin(name, block);
    for (std::uint32_t i = 0; i < iterations && error == 0; ++i) {
      const Cycle took = cycle(space, memory.bytes(), iova, access);
      result.samples[i] = static_cast<double>(wants_map ? took.map_ns : took.unmap_ns);
      error = took.error;
    }
    services_.marker.end(name, block, iterations);
    if (error != 0) fail(space, memory.bytes(), iova, access, "run " + name, error);
    add_buffer_counters(result, pooled.info);
    predict(result, pooled.runs, iova, space.page_sizes());
    return result;
  }

 private:
  // Repeats the failing call by the interface that explains itself.
  [[noreturn]] void fail(iommu::AddressSpace& space, std::span<const std::byte> memory,
                         std::uint64_t iova, iommu::Access access, const std::string& what,
                         int error) const {
    if (error == EINTR) throw_measure_error(what, error);
    try {
      space.map(memory, iova, access);
      space.unmap(iova, memory.size());
    } catch (const vfio::Error& cause) {
      throw RunError(what + ": " + cause.what());
    }
    throw_errno(what + " (a second try went well)", error);
  }

  void predict(Measurement& result, std::span<const pagemix_run> runs, std::uint64_t iova,
               std::uint64_t page_sizes) const {
    const auto map_calls = plan_map(runs, iova, page_sizes);
    const auto unmap_calls =
        plan_unmap_vfio(runs, map_calls, page_sizes, unmap_rules(services_, page_sizes));
    add_leaf_counters(result, map_calls, unmap_calls, iova);
    if (auto rules = smmu_rules(services_)) {
      rules->lazy = false;  // VFIO domains are never lazy
      result.counters["tlbi_predicted"] =
          static_cast<double>(predict_smmuv3_vfio(runs, map_calls, page_sizes, *rules).tlbi);
    }
  }

  Services services_;
};

}  // namespace

std::unique_ptr<Family> make_vfio_map(const Services& services) {
  return std::make_unique<VfioMap>(services);
}

}  // namespace pagemix::bench
