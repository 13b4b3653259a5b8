// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/iommu/iova.hpp"

namespace pagemix::vfio::pci {
struct DeviceInfo;
}

namespace pagemix::vfio::iommu {

/// What a device may do with mapped memory.
enum class Access : unsigned { read = 1, write = 2, read_write = 3 };

/// Result of an unmap: `error` is 0 or a negative errno value, `bytes` is what
/// the kernel says it unmapped.
struct UnmapResult {
  int error = 0;
  std::uint64_t bytes = 0;
};

/// How an address space asks the IOMMU core, which decides leaves and requests.
struct MappingRules {
  bool map_by_page = false;  ///< each page of the kernel alone: no leaf is larger
  /// Physically contiguous runs that one call takes back. type1 unmaps each alone.
  std::uint32_t runs_per_unmap = 1;
  /// Such calls that share one sync of the IOTLB: VFIO_IOMMU_TLB_SYNC_MAX of
  /// drivers/vfio/vfio_iommu_type1.c.
  std::uint32_t unmaps_per_sync = 512;
};

/// An I/O address space that devices are attached to: a VFIO type1 container;
/// an iommufd IOAS has the same contract.
///
/// try_map() and try_unmap() are the measured path: one system call, no
/// allocation, no exception. They may be called for memory and addresses that
/// are wrong: the kernel's answer is the result.
///
/// An address space outlives the devices, mappings and descriptors made from it.
class AddressSpace {
 public:
  virtual ~AddressSpace() = default;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// Pins `memory` and maps it at `iova` until unmapped or until the address
  /// space ends. Address, length and IOVA are multiples of granule(). The
  /// memory is still reachable by the device after munmap(); unmap first.
  /// Returns 0 or a negative errno value:
  ///   EINVAL not aligned, or outside iova_ranges()    EEXIST overlaps a mapping
  ///   EFAULT memory cannot be pinned                  ENOSPC mapping limit
  ///   ENOMEM locked-memory limit or no memory
  virtual int try_map(std::span<const std::byte> memory, std::uint64_t iova,
                      Access access) noexcept = 0;

  /// Unmaps [iova, iova + bytes), whose ends are ends of mappings. `error` is
  /// 0 only if the kernel unmapped exactly `bytes`; ENOENT when it found
  /// nothing there, EINVAL (iommufd: ENOENT) when a mapping would be cut,
  /// EMSGSIZE when it unmapped another size.
  virtual UnmapResult try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept = 0;

  /// try_map() and try_unmap() that throw Error with an explanation of the
  /// errno: the range, limit or setting that was hit.
  void map(std::span<const std::byte> memory, std::uint64_t iova, Access access);
  void unmap(std::uint64_t iova, std::uint64_t bytes);

  /// Addresses that map() accepts now, ascending. Changes when a device joins.
  virtual std::span<const IovaRange> iova_ranges() const noexcept = 0;
  /// Bit n set: the IOMMU has leaves of 1 << n bytes. Never 0.
  virtual std::uint64_t page_sizes() const noexcept = 0;
  virtual MappingRules rules() const noexcept { return {}; }
  /// Smallest page size in bytes.
  std::uint64_t granule() const noexcept { return page_sizes() & (~page_sizes() + 1); }
  /// Mappings that can still be made, asked anew; nullopt where the API does
  /// not tell.
  virtual std::optional<std::uint32_t> available_mappings() const = 0;
  /// For messages: "type1 container of IOMMU group 3".
  virtual std::string name() const = 0;

  /// Opens `device`, whose driver is vfio-pci, attached to this address space.
  /// Throws Error naming device and cause.
  virtual UniqueFd open_device(const pci::DeviceInfo& device) = 0;

 protected:
  AddressSpace() = default;

 private:
  virtual std::string explain_map(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                                  Access access) const = 0;
  virtual std::string explain_unmap(const UnmapResult& result, std::uint64_t iova,
                                    std::uint64_t bytes) const = 0;
};

}  // namespace pagemix::vfio::iommu
