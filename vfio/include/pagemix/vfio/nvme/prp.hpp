// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pagemix/vfio/nvme/command.hpp"

namespace pagemix::vfio::nvme {

/// Geometry of physical region pages (NVMe base specification 2.0, section
/// 4.1.1): a transfer is its first address, then one entry a page. More than
/// two pages take a list; a list of more than one page has the address of its
/// next page as last entry.
struct PrpGeometry {
  std::uint64_t page_bytes = 4096;  ///< the controller's memory page, CC.MPS

  /// Pages that [iova, iova + bytes) touches.
  std::uint64_t pages(std::uint64_t iova, std::uint64_t bytes) const noexcept {
    return ((iova & (page_bytes - 1)) + bytes + page_bytes - 1) / page_bytes;
  }
  /// Bytes to reserve for the list of any transfer of up to `max_bytes`, at
  /// any offset: a power of two below one page, which no list then crosses, or
  /// whole pages.
  std::uint64_t list_bytes(std::uint64_t max_bytes) const noexcept;
};

/// PRP1 and PRP2 for [iova, iova + bytes): `iova` a multiple of 4 (the first
/// entry may have an offset), `bytes` at least 1. Writes the list, if one is
/// needed, into `list`, whose IOVA is `list_iova`; it has room for
/// geometry.list_bytes(bytes) and lies as described there.
DataPointer build_prps(const PrpGeometry& geometry, std::uint64_t iova, std::uint64_t bytes,
                       std::span<std::uint64_t> list, std::uint64_t list_iova) noexcept;

}  // namespace pagemix::vfio::nvme
