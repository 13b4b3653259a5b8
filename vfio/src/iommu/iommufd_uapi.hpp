// SPDX-License-Identifier: Apache-2.0
// The part of the kernel's iommufd interface that is used here, as Linux 7.3 has
// it in include/uapi/linux/{iommufd,vfio}.h. Debian 12's kernel headers (6.1) have
// none of it, 13's (6.12) lack IOMMU_IOAS_MAP_FILE (6.13); layouts never change,
// so the program is built the same everywhere and the kernel says at run time
// what it knows (ENOTTY). Remove this file once every supported system's
// linux/iommufd.h has IOMMU_IOAS_MAP_FILE.
#pragma once

#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace pagemix::vfio::iommu::uapi {

constexpr unsigned long iommufd_command(unsigned number) { return _IO(';', number); }

// IOMMU_IOAS_ALLOC
struct IoasAlloc {
  std::uint32_t size, flags, out_ioas_id;
};
inline constexpr unsigned long ioas_alloc = iommufd_command(0x81);

// IOMMU_IOAS_IOVA_RANGES
struct Range {
  std::uint64_t first, last;
};
struct IoasIovaRanges {
  std::uint32_t size, ioas_id, num_iovas, reserved;
  std::uint64_t allowed_iovas, out_iova_alignment;
};
inline constexpr unsigned long ioas_iova_ranges = iommufd_command(0x84);

// IOMMU_IOAS_MAP
inline constexpr std::uint32_t map_fixed_iova = 1, map_writeable = 2, map_readable = 4;
struct IoasMap {
  std::uint32_t size, flags, ioas_id, reserved;
  std::uint64_t user_va, length, iova;
};
inline constexpr unsigned long ioas_map = iommufd_command(0x85);

// IOMMU_IOAS_UNMAP
struct IoasUnmap {
  std::uint32_t size, ioas_id;
  std::uint64_t iova, length;
};
inline constexpr unsigned long ioas_unmap = iommufd_command(0x86);

// IOMMU_OPTION, with IOMMU_OPTION_HUGE_PAGES and IOMMU_OPTION_OP_SET
inline constexpr std::uint32_t option_huge_pages = 1;
inline constexpr std::uint16_t option_set = 0;
struct Option {
  std::uint32_t size, option_id;
  std::uint16_t op, reserved;
  std::uint32_t object_id;
  std::uint64_t value;
};
inline constexpr unsigned long option = iommufd_command(0x87);

// IOMMU_VFIO_IOAS, with IOMMU_VFIO_IOAS_SET: which IOAS type1's calls mean
inline constexpr std::uint16_t vfio_ioas_set = 1;
struct VfioIoas {
  std::uint32_t size, ioas_id;
  std::uint16_t op, reserved;
};
inline constexpr unsigned long vfio_ioas = iommufd_command(0x88);

// IOMMU_IOAS_MAP_FILE
struct IoasMapFile {
  std::uint32_t size, flags, ioas_id;
  std::int32_t fd;
  std::uint64_t start, length, iova;
};
inline constexpr unsigned long ioas_map_file = iommufd_command(0x8f);

// VFIO_DEVICE_BIND_IOMMUFD, as since 6.6; a token came later
struct DeviceBind {
  std::uint32_t argsz, flags;
  std::int32_t iommufd;
  std::uint32_t out_devid;
};
inline constexpr unsigned long device_bind = _IO(VFIO_TYPE, VFIO_BASE + 18);

// VFIO_DEVICE_ATTACH_IOMMUFD_PT, as since 6.6; a PASID came later
struct DeviceAttach {
  std::uint32_t argsz, flags, pt_id;
};
inline constexpr unsigned long device_attach = _IO(VFIO_TYPE, VFIO_BASE + 19);

static_assert(sizeof(IoasAlloc) == 12 && sizeof(IoasIovaRanges) == 32 && sizeof(IoasMap) == 40 &&
              sizeof(IoasUnmap) == 24 && sizeof(Option) == 24 && sizeof(VfioIoas) == 12 &&
              sizeof(IoasMapFile) == 40 && offsetof(Option, object_id) == 12 &&
              sizeof(DeviceBind) == 16 && sizeof(DeviceAttach) == 12);

}  // namespace pagemix::vfio::iommu::uapi
