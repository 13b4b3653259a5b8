// SPDX-License-Identifier: Apache-2.0
// The reply of VFIO_IOMMU_GET_INFO comes from the kernel, but a chain of
// offsets is followed only as far as the buffer goes and only forwards.
#include <linux/vfio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/type1.hpp"

namespace pagemix::vfio::iommu {
namespace {

[[noreturn]] void malformed(const std::string& fault) {
  throw Error(EPROTO, "read VFIO_IOMMU_GET_INFO", fault);
}

template <typename T>
T read_at(std::span<const std::byte> bytes, std::size_t offset, const char* what) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    malformed(std::string(what) + " at offset " + std::to_string(offset) + " leaves the " +
              std::to_string(bytes.size()) + " bytes of the reply");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::vector<IovaRange> read_ranges(std::span<const std::byte> bytes, std::size_t offset) {
  constexpr std::size_t header_bytes = sizeof(vfio_iommu_type1_info_cap_iova_range);
  const auto cap =
      read_at<vfio_iommu_type1_info_cap_iova_range>(bytes, offset, "IOVA range capability");
  const std::size_t room = (bytes.size() - offset - header_bytes) / sizeof(vfio_iova_range);
  if (cap.nr_iovas > room)
    malformed("IOVA range capability claims " + std::to_string(cap.nr_iovas) +
              " ranges, the reply has room for " + std::to_string(room));
  std::vector<IovaRange> ranges;
  for (std::uint32_t i = 0; i < cap.nr_iovas; ++i) {
    const auto range = read_at<vfio_iova_range>(
        bytes, offset + header_bytes + i * sizeof(vfio_iova_range), "IOVA range");
    if (range.start > range.end)
      malformed("IOVA range " + to_string({range.start, range.end}) + " ends before it starts");
    ranges.push_back({range.start, range.end});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const IovaRange& a, const IovaRange& b) { return a.first < b.first; });
  return ranges;
}

}  // namespace

Type1Info parse_type1_info(std::span<const std::byte> bytes) {
  // Kernels before 5.6 reply without cap_offset.
  constexpr std::size_t base_bytes = offsetof(vfio_iommu_type1_info, cap_offset);
  if (bytes.size() < base_bytes)
    malformed("the reply has " + std::to_string(bytes.size()) + " bytes, at least " +
              std::to_string(base_bytes) + " expected");
  vfio_iommu_type1_info fixed{};
  std::memcpy(&fixed, bytes.data(), std::min(bytes.size(), sizeof fixed));

  Type1Info info;
  info.page_sizes = (fixed.flags & VFIO_IOMMU_INFO_PGSIZES) != 0 ? fixed.iova_pgsizes : 0;
  if (info.page_sizes == 0) malformed("no page sizes");

  bool ranges_told = false;
  if ((fixed.flags & VFIO_IOMMU_INFO_CAPS) != 0) {
    std::size_t floor = base_bytes + sizeof fixed.cap_offset;
    for (std::size_t offset = fixed.cap_offset; offset != 0;) {
      if (offset < floor)
        malformed("capability chain turns back to offset " + std::to_string(offset));
      const auto header = read_at<vfio_info_cap_header>(bytes, offset, "capability");
      if (header.id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) {
        info.iova_ranges = read_ranges(bytes, offset);
        ranges_told = true;
      } else if (header.id == VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL) {
        info.available_mappings =
            read_at<vfio_iommu_type1_info_dma_avail>(bytes, offset, "mapping limit capability")
                .avail;
      }
      floor = offset + sizeof header;
      offset = header.next;
    }
  }
  if (!ranges_told) info.iova_ranges = {{0, ~std::uint64_t{0}}};
  return info;
}

}  // namespace pagemix::vfio::iommu
