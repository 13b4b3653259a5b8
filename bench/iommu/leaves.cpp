// SPDX-License-Identifier: Apache-2.0
#include "iommu/leaves.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace pagemix::bench {
namespace {

// The kernel's __fls/__ffs based choice, drivers/iommu/iommu.c iommu_pgsize()
// (unchanged from 5.15 to 6.12): the largest page that fits the rest and the
// alignment of both addresses; then as many as fit, but when both addresses
// are congruent modulo the next larger page and that page fits behind the
// boundary, only up to the boundary.
PageCall next_call(std::uint64_t iova, std::uint64_t phys, std::uint64_t bytes,
                   std::uint64_t page_sizes) {
  std::uint64_t fitting = page_sizes;
  const std::uint64_t largest = std::bit_floor(bytes);
  fitting &= largest | (largest - 1);
  if (const std::uint64_t merged = iova | phys; merged != 0) {
    const std::uint64_t aligned = merged & (~merged + 1);  // lowest set bit
    fitting &= aligned | (aligned - 1);
  }
  if (fitting == 0)
    throw std::invalid_argument("no page size of " + format_hex(page_sizes) + " fits " +
                                std::to_string(bytes) + " bytes at IOVA " + format_hex(iova) +
                                ", physical " + format_hex(phys));
  const std::uint64_t page = std::bit_floor(fitting);
  const std::uint64_t larger = page_sizes & ~(page | (page - 1));
  if (larger != 0) {
    const std::uint64_t next = larger & (~larger + 1);
    if (((iova ^ phys) & (next - 1)) == 0) {
      const std::uint64_t offset = next - (phys & (next - 1));
      // Written so that it cannot wrap: offset + next <= bytes.
      if (bytes >= next && offset <= bytes - next) bytes = offset;
    }
  }
  return {iova, phys, page, bytes / page};
}

void check_range(std::uint64_t iova, std::uint64_t bytes, std::uint64_t page_sizes) {
  if (page_sizes == 0) throw std::invalid_argument("empty page-size bitmap");
  const std::uint64_t granule = page_sizes & (~page_sizes + 1);
  if (bytes == 0 || ((iova | bytes) & (granule - 1)) != 0 || iova + (bytes - 1) < iova)
    throw std::invalid_argument(std::to_string(bytes) + " bytes at IOVA " + format_hex(iova) +
                                " are no whole pages of " + std::to_string(granule) + " bytes");
}

void append_calls(std::vector<PageCall>& calls, std::uint64_t iova, std::uint64_t phys,
                  std::uint64_t bytes, std::uint64_t page_sizes) {
  while (bytes != 0) {
    const PageCall call = next_call(iova, phys, bytes, page_sizes);
    calls.push_back(call);
    iova += call.bytes();
    phys += call.bytes();
    bytes -= call.bytes();
  }
}

std::uint64_t end_of(std::span<const PageCall> map_calls) {
  return map_calls.back().iova + map_calls.back().bytes();
}

// The call that maps @p iova; map calls are sorted by IOVA.
const PageCall& call_at(std::span<const PageCall> map_calls, std::uint64_t iova) {
  const auto after = std::ranges::upper_bound(map_calls, iova, {}, &PageCall::iova);
  if (after == map_calls.begin() || iova - std::prev(after)->iova >= std::prev(after)->bytes())
    throw std::invalid_argument("IOVA " + format_hex(iova) + " is not mapped");
  return *std::prev(after);
}

std::uint64_t leaf_at(std::span<const PageCall> map_calls, std::uint64_t iova) {
  return call_at(map_calls, iova).page_bytes;
}

// __iommu_unmap() from @p iova to @p end, asked as a whole or page by page; a
// call may remove more than it was asked for.
void append_unmaps(std::vector<PageCall>& calls, std::span<const PageCall> map_calls,
                   std::uint64_t iova, std::uint64_t end, std::uint64_t page_sizes,
                   const UnmapRules& rules) {
  const std::uint64_t granule = page_sizes & (~page_sizes + 1);
  while (iova < end) {
    PageCall call = next_call(iova, iova, rules.page_by_page ? granule : end - iova, page_sizes);
    if (rules.whole_requests) {
      const PageCall& last = call_at(map_calls, iova + call.bytes() - 1);
      call.page_bytes = last.iova + last.bytes() - iova;
      call.count = 1;
    } else if (rules.page_by_page) {
      call.page_bytes = leaf_at(map_calls, iova);
    }
    calls.push_back(call);
    iova += call.bytes();
  }
}

// struct iommu_iotlb_gather and the code around it: include/linux/iommu.h,
// iommu_iotlb_gather_add_page(). What a sync costs is the driver's.
class Gather {
 public:
  // Invalidations of a gathered range of that many bytes, in pages of one size.
  using Cost = std::function<std::uint64_t(std::uint64_t bytes, std::uint64_t page_bytes)>;

  explicit Gather(Cost cost) : cost_(std::move(cost)) {}

  void add(std::uint64_t iova, std::uint64_t page_bytes) {
    const bool disjoint = page_bytes_ != 0 && (iova > end_ || iova + page_bytes < start_);
    if (page_bytes_ != 0 && (page_bytes_ != page_bytes || disjoint)) sync();
    if (page_bytes_ == 0) {
      start_ = iova;
      end_ = iova + page_bytes;
    } else {
      start_ = std::min(start_, iova);
      end_ = std::max(end_, iova + page_bytes);
    }
    page_bytes_ = page_bytes;
  }

  // An invalidation that does not wait for the gathered range.
  void at_once(std::uint64_t tlbi) {
    total_.tlbi += tlbi;
    ++total_.sync;
  }

  void sync() {
    if (page_bytes_ == 0) return;  // nothing gathered: no command at all
    at_once(cost_(end_ - start_, page_bytes_));
    page_bytes_ = 0;
  }

  Invalidations total() const { return total_; }

 private:
  Cost cost_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;  // first byte behind
  std::uint64_t page_bytes_ = 0;
  Invalidations total_;
};

// arm_smmu_iotlb_sync() of drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c.
Gather smmu_gather(std::uint64_t page_sizes, const SmmuRules& rules) {
  const std::uint64_t granule = page_sizes & (~page_sizes + 1);
  return Gather([granule, ranges = rules.range_commands](std::uint64_t bytes, std::uint64_t page) {
    return tlbi_commands(bytes, page, granule, /*leaf=*/true, ranges);
  });
}

// __arm_lpae_unmap() of drivers/iommu/io-pgtable-arm.c for one unmap_pages()
// call: entries that point to a table are flushed one by one.
void smmu_unmap_call(Gather& gather, const PageCall& call, std::span<const PageCall> map_calls,
                     std::uint64_t page_sizes, const SmmuRules& rules) {
  const std::uint64_t granule = page_sizes & (~page_sizes + 1);
  for (std::uint64_t i = 0; i < call.count; ++i) {
    const std::uint64_t iova = call.iova + i * call.page_bytes;
    if (leaf_at(map_calls, iova) < call.page_bytes)
      gather.at_once(
          tlbi_commands(call.page_bytes, granule, granule, /*leaf=*/false, rules.range_commands));
  }
  if (rules.lazy) return;
  for (std::uint64_t i = 0; i < call.count; ++i) {
    const std::uint64_t iova = call.iova + i * call.page_bytes;
    if (rules.gathers_tables || leaf_at(map_calls, iova) == call.page_bytes)
      gather.add(iova, call.page_bytes);
  }
}

// intel_iommu_tlb_sync() of drivers/iommu/intel/iommu.c: one invalidation of
// pages, or of the domain where the range is larger than the IOMMU takes.
Gather vtd_gather() {
  return Gather([](std::uint64_t, std::uint64_t) { return std::uint64_t{1}; });
}

// intel_iommu_unmap_pages() of the same file gathers a call as one page of its
// size, or of the leaf's where that is larger.
void vtd_unmap_call(Gather& gather, const PageCall& call, std::span<const PageCall> map_calls) {
  gather.add(call.iova, std::max(call.bytes(), leaf_at(map_calls, call.iova)));
}

// Bytes of each range that a backend gives iommu_unmap() in one call.
std::vector<std::uint64_t> unmapped_ranges(std::span<const pagemix_run> runs,
                                           std::uint32_t runs_per_unmap) {
  std::vector<std::uint64_t> ranges;
  std::uint32_t held = runs_per_unmap;
  for (const pagemix_run& run : merge_runs(runs)) {
    if (held == runs_per_unmap) {
      ranges.push_back(0);
      held = 0;
    }
    ranges.back() += run.bytes;
    ++held;
  }
  return ranges;
}

template <typename UnmapCall>
Invalidations vfio_unmaps(Gather gather, std::span<const pagemix_run> runs,
                          std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                          const vfio::iommu::MappingRules& backend, UnmapCall unmap_call) {
  if (map_calls.empty()) return {};
  std::uint64_t iova = map_calls.front().iova;
  std::uint32_t pending = 0;
  for (const std::uint64_t bytes : unmapped_ranges(runs, backend.runs_per_unmap)) {
    std::vector<PageCall> calls;
    append_unmaps(calls, map_calls, iova, iova + bytes, page_sizes, {});
    for (const PageCall& call : calls) unmap_call(gather, call);
    iova += bytes;
    if (++pending == backend.unmaps_per_sync) {
      gather.sync();
      pending = 0;
    }
  }
  gather.sync();
  return gather.total();
}

}  // namespace

std::vector<pagemix_run> merge_runs(std::span<const pagemix_run> runs) {
  std::vector<pagemix_run> merged;
  for (const pagemix_run& run : runs) {
    if (!merged.empty() && merged.back().phys + merged.back().bytes == run.phys)
      merged.back().bytes += run.bytes;
    else
      merged.push_back(run);
  }
  return merged;
}

std::uint64_t total_bytes(std::span<const pagemix_run> runs) {
  std::uint64_t bytes = 0;
  for (const pagemix_run& run : runs) bytes += run.bytes;
  return bytes;
}

std::vector<PageCall> plan_map(std::span<const pagemix_run> runs, std::uint64_t iova,
                               std::uint64_t page_sizes) {
  check_range(iova, total_bytes(runs), page_sizes);
  std::vector<PageCall> calls;
  for (const pagemix_run& run : merge_runs(runs)) {
    append_calls(calls, iova, run.phys, run.bytes, page_sizes);
    iova += run.bytes;
  }
  return calls;
}

std::vector<PageCall> plan_map_by_page(std::span<const pagemix_run> runs, std::uint64_t iova,
                                       std::uint64_t page_sizes, std::uint64_t page_bytes) {
  check_range(iova, total_bytes(runs), page_sizes);
  std::vector<PageCall> calls;
  for (const pagemix_run& run : runs) {
    if (page_bytes == 0 || run.bytes % page_bytes != 0)
      throw std::invalid_argument("run of " + std::to_string(run.bytes) +
                                  " bytes is no whole pages of " + std::to_string(page_bytes));
    for (std::uint64_t done = 0; done < run.bytes; done += page_bytes)
      append_calls(calls, iova + done, run.phys + done, page_bytes, page_sizes);
    iova += run.bytes;
  }
  return calls;
}

std::vector<PageCall> plan_unmap(std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                 const UnmapRules& rules) {
  std::vector<PageCall> calls;
  if (!map_calls.empty())
    append_unmaps(calls, map_calls, map_calls.front().iova, end_of(map_calls), page_sizes,
                  {.whole_requests = rules.whole_requests, .page_by_page = false});
  return calls;
}

std::vector<PageCall> plan_unmap_vfio(std::span<const pagemix_run> runs,
                                      std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                      const UnmapRules& rules,
                                      const vfio::iommu::MappingRules& backend) {
  std::vector<PageCall> calls;
  if (map_calls.empty()) return calls;
  std::uint64_t iova = map_calls.front().iova;
  for (const std::uint64_t bytes : unmapped_ranges(runs, backend.runs_per_unmap)) {
    append_unmaps(calls, map_calls, iova, iova + bytes, page_sizes, rules);
    iova += bytes;
  }
  return calls;
}

std::map<std::uint64_t, std::uint64_t> count_leaves(std::span<const PageCall> map_calls) {
  std::map<std::uint64_t, std::uint64_t> leaves;
  for (const PageCall& call : map_calls) leaves[call.page_bytes] += call.count;
  return leaves;
}

// __arm_smmu_tlb_inv_range() of drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c.
std::uint64_t tlbi_commands(std::uint64_t bytes, std::uint64_t page_bytes, std::uint64_t granule,
                            bool leaf, bool range_commands) {
  if (!range_commands) return (bytes + page_bytes - 1) / page_bytes;
  constexpr std::uint64_t kNumMax = 31;  // CMDQ_TLBI_RANGE_NUM_MAX
  std::uint64_t pages = bytes / granule;
  // A non-leaf command for exactly one page is avoided because of errata.
  if (!leaf && (pages & kNumMax) == 1) ++pages;
  std::uint64_t commands = 0;
  std::uint64_t covered = 0;
  while (covered < bytes) {
    const int scale = std::countr_zero(pages);
    const std::uint64_t num = (pages >> scale) & kNumMax;
    covered += (num << scale) * granule;
    pages -= num << scale;
    ++commands;
  }
  return commands;
}

Invalidations predict_smmuv3(std::span<const PageCall> map_calls,
                             std::span<const PageCall> unmap_calls, std::uint64_t page_sizes,
                             const SmmuRules& rules) {
  Gather gather = smmu_gather(page_sizes, rules);
  for (const PageCall& call : unmap_calls)
    smmu_unmap_call(gather, call, map_calls, page_sizes, rules);
  gather.sync();
  return gather.total();
}

Invalidations predict_smmuv3_vfio(std::span<const pagemix_run> runs,
                                  std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                                  const SmmuRules& rules,
                                  const vfio::iommu::MappingRules& backend) {
  return vfio_unmaps(smmu_gather(page_sizes, rules), runs, map_calls, page_sizes, backend,
                     [&](Gather& gather, const PageCall& call) {
                       smmu_unmap_call(gather, call, map_calls, page_sizes, rules);
                     });
}

Invalidations predict_vtd(std::span<const PageCall> map_calls,
                          std::span<const PageCall> unmap_calls) {
  Gather gather = vtd_gather();
  for (const PageCall& call : unmap_calls) vtd_unmap_call(gather, call, map_calls);
  gather.sync();
  return gather.total();
}

Invalidations predict_vtd_vfio(std::span<const pagemix_run> runs,
                               std::span<const PageCall> map_calls, std::uint64_t page_sizes,
                               const vfio::iommu::MappingRules& backend) {
  return vfio_unmaps(
      vtd_gather(), runs, map_calls, page_sizes, backend,
      [&](Gather& gather, const PageCall& call) { vtd_unmap_call(gather, call, map_calls); });
}

}  // namespace pagemix::bench
