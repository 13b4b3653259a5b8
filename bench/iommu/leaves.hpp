// SPDX-License-Identifier: Apache-2.0
// Predicts what the IOMMU core and the drivers below it do with a buffer: which
// leaves it gets, how many map and unmap requests reach the driver, how many
// invalidations an SMMUv3 or VT-d receives. Pure functions of runs, IOVA and page
// sizes.
#pragma once

#include <pagemix.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pagemix/vfio/iommu/address_space.hpp"

namespace pagemix::bench {

/// One call of the driver's map_pages() or unmap_pages(): @p count pages of
/// @p page_bytes from @p iova. For unmaps @p phys equals @p iova.
struct PageCall {
  std::uint64_t iova = 0;
  std::uint64_t phys = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t count = 0;

  std::uint64_t bytes() const { return page_bytes * count; }
  friend bool operator==(const PageCall&, const PageCall&) = default;
};

/// Runs in buffer order with neighbours that touch physically joined, as
/// iommu_map_sg() and the pinning of VFIO type1 join them.
std::vector<pagemix_run> merge_runs(std::span<const pagemix_run> runs);

/// Bytes of all runs.
std::uint64_t total_bytes(std::span<const pagemix_run> runs);

/// map_pages() calls for a buffer at @p iova. Each call is one MAP request of
/// virtio-iommu. @p page_sizes has bit n set for pages of 2^n bytes.
/// std::invalid_argument when an address or length is no multiple of the
/// smallest page, or when a run is empty or the IOVA range wraps.
std::vector<PageCall> plan_map(std::span<const pagemix_run> runs, std::uint64_t iova,
                               std::uint64_t page_sizes);

/// The same where each page of @p page_bytes is asked for alone, neighbours or
/// not: VFIO type1 with disable_hugepages, iommufd with IOMMU_OPTION_HUGE_PAGES 0.
std::vector<PageCall> plan_map_by_page(std::span<const pagemix_run> runs, std::uint64_t iova,
                                       std::uint64_t page_sizes, std::uint64_t page_bytes);

/// How the driver below the IOMMU core takes mappings back.
struct UnmapRules {
  /// virtio-iommu cannot split a MAP request: an unmap removes every request it
  /// touches as a whole (viommu_del_mappings() in drivers/iommu/virtio-iommu.c).
  bool whole_requests = false;
  /// VFIO type1 before Linux 6.16 asks page by page where a driver removes more
  /// than the page it was asked for (struct vfio_domain.fgsp). The kernel tries
  /// that with two neighbouring pages, so it is so where page sizes double.
  bool page_by_page = false;
};

/// unmap_pages() calls of iommu_unmap() over everything that @p map_calls
/// mapped, as the DMA API unmaps a buffer. Each is one UNMAP request of
/// virtio-iommu. bytes() of a call is what it removed.
std::vector<PageCall> plan_unmap(std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                 const UnmapRules& rules = {});

/// unmap_pages() calls of a VFIO backend, which calls iommu_unmap() for as many
/// contiguous runs at a time as @p backend says (vfio_unmap_unpin() in
/// drivers/vfio/vfio_iommu_type1.c, iopt_area_unpin_domain() in
/// drivers/iommu/iommufd/pages.c). @p runs and @p map_calls belong together.
std::vector<PageCall> plan_unmap_vfio(std::span<const pagemix_run> runs,
                                      std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                      const UnmapRules& rules = {},
                                      const vfio::iommu::MappingRules& backend = {});

/// Leaves by their size in bytes.
std::map<std::uint64_t, std::uint64_t> count_leaves(std::span<const PageCall> map_calls);

/// Properties of kernel and SMMU that decide the number of invalidations.
struct SmmuRules {
  /// SMMU_IDR3.RIL: one command invalidates a range.
  bool range_commands = true;
  /// io-pgtable-arm adds regions whose table was dropped to the final gathered
  /// invalidation as well. Since Linux 6.12 (commit 85b715a33458).
  bool gathers_tables = true;
  /// Domain mode "lazy": only dropped tables are invalidated by the unmap.
  bool lazy = false;
};

/// Commands that one unmap puts in the SMMUv3 command queue or VT-d's
/// invalidation queue, whose word for a sync is wait.
struct Invalidations {
  std::uint64_t tlbi = 0;
  std::uint64_t sync = 0;
  friend bool operator==(const Invalidations&, const Invalidations&) = default;
};

/// TLBI commands for one range, as arm_smmu_tlb_inv_range_domain() splits it.
/// @p leaf is false when a table was dropped; @p page_bytes is the size that
/// the caller passes as granule.
std::uint64_t tlbi_commands(std::uint64_t bytes, std::uint64_t page_bytes, std::uint64_t granule,
                            bool leaf, bool range_commands);

/// Invalidations of a DMA API unmap of everything that @p map_calls mapped.
Invalidations predict_smmuv3(std::span<const PageCall> map_calls,
                             std::span<const PageCall> unmap_calls, std::uint64_t page_sizes,
                             const SmmuRules& rules);

/// The same for a VFIO backend, which says how many runs share a sync. @p runs
/// and @p map_calls belong together.
Invalidations predict_smmuv3_vfio(std::span<const pagemix_run> runs,
                                  std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                  const SmmuRules& rules,
                                  const vfio::iommu::MappingRules& backend = {});

/// IOTLB invalidations of a DMA API unmap that VT-d gets in a strict domain; a
/// lazy one gets none from the unmap. A device with a TLB of its own (ATS) is sent
/// as many more, which are not counted here. By the Intel driver of Linux 6.1 to 6.12.
Invalidations predict_vtd(std::span<const PageCall> map_calls,
                          std::span<const PageCall> unmap_calls);

/// The same for a VFIO backend, as predict_smmuv3_vfio().
Invalidations predict_vtd_vfio(std::span<const pagemix_run> runs,
                               std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                               const vfio::iommu::MappingRules& backend = {});

}  // namespace pagemix::bench
