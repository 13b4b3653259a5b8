// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::vfio::iommu {

/// Whether contiguous pages may share a leaf (IOMMU_OPTION_HUGE_PAGES).
enum class HugePages { on, off };

/// An I/O address space (IOAS) of /dev/iommu, with devices bound by their own
/// nodes, /dev/vfio/devices/vfio<n>. Linux 6.6 with IOMMUFD and VFIO_DEVICE_CDEV.
///
/// Differs from a type1 container: an unmap is one request for the whole
/// mapping, not one for each contiguous run; try_unmap() gives ENOENT, not
/// EINVAL, where a mapping would be cut; there is no limit of mappings; locked
/// memory is accounted to the user.
class Iommufd final : public AddressSpace {
 public:
  /// Makes an IOAS and attaches `device`, bound to vfio-pci. Throws
  ///   GroupNotViable naming the other devices of the group and their drivers,
  ///   Error: ENOENT no IOMMUFD or no node of the device, EBUSY device or group
  ///   in use, EPERM no interrupt remapping.
  explicit Iommufd(const pci::DeviceInfo& device, HugePages huge_pages = HugePages::on,
                   SystemPaths paths = {});

  /// Attaches a further device; the usable ranges shrink to what all can use.
  void attach(const pci::DeviceInfo& device);

  int try_map(std::span<const std::byte> memory, std::uint64_t iova,
              Access access) noexcept override;
  UnmapResult try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept override;

  /// try_map() of `bytes` of a memfd from `offset`, which need not be mapped by
  /// the process: its pages are pinned through the file, hugetlb ones whole.
  /// ENOTTY before Linux 6.13; EINVAL for another file.
  int try_map_file(int memfd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t iova,
                   Access access) noexcept;
  /// try_map_file() that throws Error with an explanation.
  void map_file(int memfd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t iova,
                Access access);

  std::span<const IovaRange> iova_ranges() const noexcept override { return ranges_; }
  std::uint64_t page_sizes() const noexcept override { return page_sizes_; }
  MappingRules rules() const noexcept override {
    // A struct pfn_batch of drivers/iommu/iommufd/pages.c: TEMP_MEMORY_LIMIT holds as
    // many runs of 12 bytes. A kernel that lacks 64 KiB in one piece takes fewer.
    return {.map_by_page = huge_pages_ == HugePages::off,
            .runs_per_unmap = 65536 / 12,
            .unmaps_per_sync = 1};
  }
  std::optional<std::uint32_t> available_mappings() const override { return std::nullopt; }
  std::string name() const override;
  UniqueFd open_device(const pci::DeviceInfo& device) override;

 private:
  std::string explain_map(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                          Access access) const override;
  std::string explain_unmap(const UnmapResult& result, std::uint64_t iova,
                            std::uint64_t bytes) const override;
  void query();

  SystemPaths paths_;
  HugePages huge_pages_;
  UniqueFd iommufd_;
  std::uint32_t ioas_ = 0;
  std::map<pci::Bdf, UniqueFd> devices_;
  std::vector<IovaRange> ranges_;
  std::uint64_t page_sizes_ = 0;
};

}  // namespace pagemix::vfio::iommu
