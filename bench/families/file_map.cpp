// SPDX-License-Identifier: Apache-2.0
// file_map, file_unmap: IOMMU_IOAS_MAP_FILE of a memfd, shmem or huge pages, and
// IOMMU_IOAS_UNMAP, as user space sees them. All pages are present before. One
// cycle a repetition; one half is timed.
#include "base/error.hpp"
#include "families/family.hpp"
#include "families/vfio_cycle.hpp"
#include "machine/memfd.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/iommufd.hpp"
#include "pagemix/vfio/iommu/iova.hpp"

namespace pagemix::bench {
namespace {

namespace iommu = vfio::iommu;

std::vector<std::string> sources_of(const Value& value) { return words(value, memfd_sources()); }

std::string backend_of(const Case& item) {
  return item.backend().empty() ? "iommufd" : item.backend();
}

class FileMap final : public Family {
 public:
  explicit FileMap(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    const std::string why = iommu::backend_missing("iommufd");
    if (!why.empty()) return why;
    return std::nullopt;
  }

  std::optional<Skipped> unmeasurable(const Case& item) const override {
    if (backend_of(item) == "type1")
      return Skipped{"file_map, file_unmap on backend:type1", "type1 maps no files"};
    if (const auto why = memfd_missing(item.part("source"), item.bytes()))
      return Skipped{item.part("source") + " of " + std::to_string(item.bytes()) + " bytes", *why};
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    auto& space = dynamic_cast<iommu::Iommufd&>(services_.device->vfio(backend_of(item)));
    const Memfd file(item.part("source"), item.bytes());
    iommu::IovaAllocator allocator(space.iova_ranges(), space.granule());
    const std::uint64_t iova =
        allocator.allocate(item.bytes(), iommu::leaf_alignment(space.page_sizes(), item.bytes()));
    const iommu::Access access = access_value(services_.profile.direction);
    const auto [samples, error] = measure_cycles(
        services_, item, block, space, iova, item.bytes(), item.family == "file_map",
        [&]() noexcept { return space.try_map_file(file.fd(), 0, item.bytes(), iova, access); });
    if (error == EINTR) throw_measure_error("run " + item.name(), error);
    if (error != 0) {  // once more by the call that explains itself
      space.map_file(file.fd(), 0, item.bytes(), iova, access);
      space.unmap(iova, item.bytes());
      throw_errno("run " + item.name() + " (a second try went well)", error);
    }
    Measurement result;
    result.samples = samples;
    const std::vector<pagemix_run> runs = file.runs();
    result.counters["runs"] = static_cast<double>(runs.size());
    predict_vfio(result, services_, runs, iova, space);
    return result;
  }

 private:
  Services services_;
};

constexpr Key<sources_of> kSources{
    "sources", "shmem hugetlb-2M",
    "file_map: memfds: shmem, hugetlb-64K, hugetlb-2M, hugetlb-32M, hugetlb-512M, hugetlb-1G"};

FamilyDescriptor described(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .group = Group::kVfio,
          .axes = {axis::bytes, axis::values("source", kSources), axis::backend},
          .parts = {"source", "bytes", "backend"},
          .keys = {&kSources},
          .make = make_family<FileMap>};
}

const RegisterFamilies kRegistered({
    described("file_map", "IOMMU_IOAS_MAP_FILE of a memfd (user-space clock)"),
    described("file_unmap", "IOMMU_IOAS_UNMAP of it (user-space clock)"),
});

}  // namespace

}  // namespace pagemix::bench
