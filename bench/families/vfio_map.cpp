// SPDX-License-Identifier: Apache-2.0
// vfio_map, vfio_unmap: VFIO_IOMMU_MAP_DMA and UNMAP_DMA, or IOMMU_IOAS_MAP and
// UNMAP, of a heap buffer as user space sees them. Every page is present before,
// so that the map's cost is pinning and mapping, not faulting. One cycle a
// repetition; one half is timed.
#include <optional>

#include "base/error.hpp"
#include "families/family.hpp"
#include "families/vfio_cycle.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/iova.hpp"

namespace pagemix::bench {
namespace {

namespace iommu = vfio::iommu;

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

  std::optional<Skipped> unmeasurable(const Case& item) const override {
    return missing_backend(item);
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    iommu::AddressSpace& space = services_.device->vfio(item.backend());
    const PooledBuffer& pooled = services_.pool->get(item);
    const vfio::MappedMemory memory = pooled.buffer.map_prefaulted(item.bytes());
    iommu::IovaAllocator allocator(space.iova_ranges(), space.granule());
    const std::uint64_t iova =
        allocator.allocate(item.bytes(), iommu::leaf_alignment(space.page_sizes(), item.bytes()));
    const iommu::Access access = access_value(services_.profile.direction);
    const auto [samples, error] =
        measure_cycles(services_, item, block, space, iova, item.bytes(), item.family == "vfio_map",
                       [&]() noexcept { return space.try_map(memory.bytes(), iova, access); });
    if (error != 0) fail(space, memory.bytes(), iova, access, "run " + item.name(), error);
    Measurement result;
    result.samples = samples;
    add_buffer_counters(result, pooled.info);
    predict_vfio(result, services_, pooled.runs, iova, space);
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
      throw RunError(what + ": " + cause.what(), cause.errnum());
    }
    throw_errno(what + " (a second try went well)", error);
  }

  Services services_;
};

FamilyDescriptor described(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .group = Group::kVfio,
          .axes = {axis::bytes, axis::mix, axis::layout, axis::backend},
          .parts = {"mix", "layout", "bytes", "backend"},
          .make = make_family<VfioMap>};
}

const RegisterFamilies kRegistered({
    described("vfio_map", "VFIO_IOMMU_MAP_DMA of the mmapped buffer (user-space clock)"),
    described("vfio_unmap", "VFIO_IOMMU_UNMAP_DMA of it (user-space clock)"),
});

}  // namespace

}  // namespace pagemix::bench
