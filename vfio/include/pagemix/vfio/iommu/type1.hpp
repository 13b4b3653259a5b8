// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::vfio::iommu {

/// What VFIO_IOMMU_GET_INFO tells.
struct Type1Info {
  std::uint64_t page_sizes = 0;        ///< bit n: leaves of 1 << n bytes
  std::vector<IovaRange> iova_ranges;  ///< ascending; whole space if not told
  std::optional<std::uint32_t> available_mappings;
};

/// Reads struct vfio_iommu_type1_info with its capability chain out of
/// `bytes`. Unknown capabilities are passed over. Throws Error (EPROTO) that
/// names the fault: a chain that leaves the buffer or turns back, a capability
/// shorter than its fields, a reversed range, no page sizes.
Type1Info parse_type1_info(std::span<const std::byte> bytes);

/// VFIO_IOMMU_GET_INFO of a container, or of an iommufd in its place; `name` is
/// for messages. Throws Error.
Type1Info query_type1_info(int container, const std::string& name);

/// What is needed to explain a failed map; all of it can be made in a test.
struct MapFailure {
  int errnum = 0;             ///< positive
  std::uint64_t address = 0;  ///< of the memory
  std::uint64_t bytes = 0;
  std::uint64_t iova = 0;
  Access access = Access::read_write;
  std::uint64_t granule = 4096;
  std::vector<IovaRange> ranges;
  std::optional<std::uint32_t> available_mappings;
  std::uint64_t memlock_limit = 0;  ///< RLIMIT_MEMLOCK in bytes, ~0 for unlimited
  std::uint64_t memlock_used = 0;   ///< VmLck + VmPin in bytes
  std::string smaps;                ///< text of /proc/self/smaps
};

/// Everything of a failed map but the limit of mappings, with the process's
/// limits and, for EFAULT, its memory map as they are now.
MapFailure describe_map_failure(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                                Access access, std::uint64_t granule,
                                std::span<const IovaRange> ranges);

/// One sentence on why the map failed and which setting to change.
std::string explain_map_failure(const MapFailure& failure);

/// A VFIO container with a TYPE1v2 IOMMU: /dev/vfio/vfio and the groups of the
/// devices in it.
class Type1Container final : public AddressSpace {
 public:
  /// Makes a container that holds the IOMMU group of `device`. Throws
  ///   GroupNotViable naming the other devices of the group and their drivers,
  ///   Error: ENOENT modules missing or no vfio driver bound, EBUSY group open
  ///   elsewhere, EPERM no interrupt remapping.
  explicit Type1Container(const pci::DeviceInfo& device, SystemPaths paths = {});

  /// Adds the group of a further device (nothing happens for a known group);
  /// the usable ranges shrink to what all devices can use.
  void attach(const pci::DeviceInfo& device);

  int try_map(std::span<const std::byte> memory, std::uint64_t iova,
              Access access) noexcept override;
  UnmapResult try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept override;
  std::span<const IovaRange> iova_ranges() const noexcept override { return info_.iova_ranges; }
  std::uint64_t page_sizes() const noexcept override { return info_.page_sizes; }
  MappingRules rules() const noexcept override { return {.map_by_page = by_page_}; }
  std::optional<std::uint32_t> available_mappings() const override;
  std::string name() const override;
  UniqueFd open_device(const pci::DeviceInfo& device) override;

 private:
  std::string explain_map(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                          Access access) const override;
  std::string explain_unmap(const UnmapResult& result, std::uint64_t iova,
                            std::uint64_t bytes) const override;
  UniqueFd open_group(const pci::DeviceInfo& device, int group) const;
  Type1Info query() const { return query_type1_info(container_.get(), name()); }

  SystemPaths paths_;
  UniqueFd container_;
  std::map<int, UniqueFd> groups_;
  Type1Info info_;
  bool by_page_ = false;  // parameter disable_hugepages, as it was at the start
};

}  // namespace pagemix::vfio::iommu
