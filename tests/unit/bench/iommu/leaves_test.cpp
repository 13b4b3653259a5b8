// SPDX-License-Identifier: Apache-2.0
// Leaves, requests and invalidations against cases worked by hand from the
// kernel's rules, and against what QEMU counted (marked "seen").
#include "iommu/leaves.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace pagemix::bench {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSmmu4K = 0x40201000;      // 4K, 2M, 1G
constexpr std::uint64_t kSmmu16K = 0x2004000;      // 16K, 32M
constexpr std::uint64_t kSmmu64K = 0x20010000;     // 64K, 512M
constexpr std::uint64_t kContiguous = 0x42211000;  // and 64K, 32M: contiguous hint
constexpr std::uint64_t kAnyPower = ~std::uint64_t{0xfff};
constexpr std::uint64_t kIova = 0xfb000000;  // 16 MiB aligned

using Leaves = std::map<std::uint64_t, std::uint64_t>;

// A buffer of chunks of one size that never touch: each a run of its own,
// aligned to its size, physically descending.
std::vector<pagemix_run> scattered(std::uint64_t chunk, std::uint64_t bytes) {
  std::vector<pagemix_run> runs;
  for (std::uint64_t left = bytes / chunk; left > 0; --left)
    runs.push_back({.phys = 0x100000000 + 2 * left * chunk, .bytes = chunk});
  return runs;
}

Invalidations unmap_of(std::span<const pagemix_run> runs, std::uint64_t iova,
                       std::uint64_t sizes = kSmmu4K, const SmmuRules& rules = {}) {
  const auto mapped = plan_map(runs, iova, sizes);
  return predict_smmuv3(mapped, plan_unmap(mapped, sizes), sizes, rules);
}

TEST(Leaves, ScatteredOrder0Is2560SmallLeaves) {
  const auto calls = plan_map(scattered(4 * kKiB, 10 * kMiB), kIova, kSmmu4K);
  EXPECT_EQ(calls.size(), 2560u);
  EXPECT_EQ(count_leaves(calls), (Leaves{{4096, 2560}}));
}

TEST(Leaves, OrdersBelowABlockGetSmallLeavesInFewerCalls) {
  const auto order4 = plan_map(scattered(64 * kKiB, 10 * kMiB), kIova, kSmmu4K);
  EXPECT_EQ(order4.size(), 160u);
  EXPECT_EQ(count_leaves(order4), (Leaves{{4096, 2560}}));
  const auto order8 = plan_map(scattered(kMiB, 10 * kMiB), kIova, kSmmu4K);
  EXPECT_EQ(order8.size(), 10u);
  EXPECT_EQ(count_leaves(order8), (Leaves{{4096, 2560}}));
}

TEST(Leaves, Order9IsFiveBlocks) {
  const auto calls = plan_map(scattered(2 * kMiB, 10 * kMiB), kIova, kSmmu4K);
  EXPECT_EQ(calls.size(), 5u);
  EXPECT_EQ(count_leaves(calls), (Leaves{{2 * kMiB, 5}}));
}

TEST(Leaves, NeighbouringChunksJoinToBlocks) {
  // Two order-8 chunks side by side make 2 MiB, aligned: one block.
  const pagemix_run runs[] = {{0x40000000, kMiB}, {0x40100000, kMiB}, {0x50000000, kMiB}};
  EXPECT_EQ(merge_runs(runs).size(), 2u);
  const auto calls = plan_map(runs, kIova, kSmmu4K);
  EXPECT_EQ(calls, (std::vector<PageCall>{{kIova, 0x40000000, 2 * kMiB, 1},
                                          {kIova + 2 * kMiB, 0x50000000, 4096, 256}}));
}

TEST(Leaves, AnUnalignedStartIsMappedUpToTheBlock) {
  // 4 MiB from 4 KiB below a 2 MiB boundary, IOVA congruent: 1 page, then one
  // block, then what is left of the second block in small pages.
  const pagemix_run runs[] = {{0x401ff000, 4 * kMiB}};
  const auto calls = plan_map(runs, 0x801ff000, kSmmu4K);
  EXPECT_EQ(calls, (std::vector<PageCall>{{0x801ff000, 0x401ff000, 4096, 1},
                                          {0x80200000, 0x40200000, 2 * kMiB, 1},
                                          {0x80400000, 0x40400000, 4096, 511}}));
}

TEST(Leaves, AddressesThatAreNotCongruentNeverGetABlock) {
  const pagemix_run runs[] = {{0x40201000, 4 * kMiB}};
  const auto calls = plan_map(runs, kIova, kSmmu4K);
  EXPECT_EQ(calls, (std::vector<PageCall>{{kIova, 0x40201000, 4096, 1024}}));
}

TEST(Leaves, OtherGranulesAndContiguousHints) {
  EXPECT_EQ(count_leaves(plan_map(scattered(32 * kMiB, 64 * kMiB), 0x80000000, kSmmu16K)),
            (Leaves{{32 * kMiB, 2}}));
  EXPECT_EQ(count_leaves(plan_map(scattered(kMiB, 10 * kMiB), kIova, kSmmu16K)),
            (Leaves{{16 * kKiB, 640}}));
  EXPECT_EQ(count_leaves(plan_map(scattered(kMiB, 10 * kMiB), kIova, kSmmu64K)),
            (Leaves{{64 * kKiB, 160}}));
  EXPECT_EQ(count_leaves(plan_map(scattered(64 * kKiB, 10 * kMiB), kIova, kContiguous)),
            (Leaves{{64 * kKiB, 160}}));
}

TEST(Leaves, VirtioIommuTakesAnyPowerOfTwo) {
  const auto calls = plan_map(scattered(64 * kKiB, 10 * kMiB), kIova, kAnyPower);
  EXPECT_EQ(calls.size(), 160u);
  EXPECT_EQ(count_leaves(calls), (Leaves{{64 * kKiB, 160}}));
  // 10 MiB in one run at 16 MiB: a page of 8 MiB and one of 2 MiB.
  const pagemix_run whole[] = {{0x40000000, 10 * kMiB}};
  EXPECT_EQ(plan_map(whole, kIova, kAnyPower),
            (std::vector<PageCall>{{kIova, 0x40000000, 8 * kMiB, 1},
                                   {kIova + 8 * kMiB, 0x40800000, 2 * kMiB, 1}}));
}

TEST(Leaves, PageByPageNoLeafIsLarger) {
  // One run of 4 MiB: two blocks as a whole, 1024 requests of a page each alone.
  const std::vector<pagemix_run> run = {{.phys = 0x100000000, .bytes = 4 * kMiB}};
  EXPECT_EQ(plan_map(run, kIova, kSmmu4K).size(), 1u);
  for (const std::uint64_t sizes : {kSmmu4K, kAnyPower}) {
    const auto calls = plan_map_by_page(run, kIova, sizes, 4 * kKiB);
    EXPECT_EQ(calls.size(), 1024u);
    EXPECT_EQ(count_leaves(calls), (Leaves{{4096, 1024}}));
    EXPECT_EQ(calls.back(), (PageCall{kIova + 4 * kMiB - 4096, 0x1003ff000, 4096, 1}));
  }
  // A kernel's page of 64 KiB on a granule of 4 KiB is one request of 16 leaves.
  const auto calls = plan_map_by_page(run, kIova, kSmmu4K, 64 * kKiB);
  EXPECT_EQ(calls.size(), 64u);
  EXPECT_EQ(count_leaves(calls), (Leaves{{4096, 1024}}));
  EXPECT_THROW(plan_map_by_page(run, kIova, kSmmu4K, 3 * kMiB), std::invalid_argument);
}

TEST(Leaves, BadInputIsRefused) {
  const pagemix_run good[] = {{0x40000000, 4096}};
  EXPECT_THROW(plan_map(good, 0x800, kSmmu4K), std::invalid_argument);
  EXPECT_THROW(plan_map(good, kIova, 0), std::invalid_argument);
  EXPECT_THROW(plan_map({}, kIova, kSmmu4K), std::invalid_argument);
  EXPECT_THROW(plan_map(good, kIova, kSmmu64K), std::invalid_argument);
  const pagemix_run odd[] = {{0x40000000, 5000}};
  EXPECT_THROW(plan_map(odd, kIova, kSmmu4K), std::invalid_argument);
  const pagemix_run shifted[] = {{0x40000800, 4096}};
  EXPECT_THROW(plan_map(shifted, kIova, kSmmu4K), std::invalid_argument);
  const pagemix_run two[] = {{0x40000000, 8192}};
  EXPECT_THROW(plan_map(two, ~std::uint64_t{4095}, kSmmu4K), std::invalid_argument);
}

TEST(Unmap, TheWholeRangeGoesByItsOwnAlignment) {
  const auto mapped = plan_map(scattered(4 * kKiB, 10 * kMiB), kIova, kSmmu4K);
  EXPECT_EQ(plan_unmap(mapped, kSmmu4K), (std::vector<PageCall>{{kIova, kIova, 2 * kMiB, 5}}));
  const auto any = plan_map(scattered(4 * kKiB, 10 * kMiB), kIova, kAnyPower);
  EXPECT_EQ(plan_unmap(any, kAnyPower, {.whole_requests = true}).size(), 2u);
}

TEST(Unmap, VirtioIommuTakesBackWholeRequests) {
  // Seen: ten 1 MiB pages in one MAP request, one UNMAP request of 10 MiB.
  const pagemix_run run[] = {{0x40100000, 10 * kMiB}};
  const auto mapped = plan_map(run, kIova, kAnyPower);
  ASSERT_EQ(mapped, (std::vector<PageCall>{{kIova, 0x40100000, kMiB, 10}}));
  EXPECT_EQ(plan_unmap(mapped, kAnyPower, {.whole_requests = true}),
            (std::vector<PageCall>{{kIova, kIova, 10 * kMiB, 1}}));
  // A request across the boundary at 8 MiB: the first UNMAP ends with it, the
  // rest starts at 9 MiB, aligned to 1 MiB only.
  const pagemix_run across[] = {{0x40000000, 7 * kMiB}, {0x60100000, 2 * kMiB}, {0x70000000, kMiB}};
  const auto calls = plan_map(across, kIova, kAnyPower);
  EXPECT_EQ(plan_unmap(calls, kAnyPower, {.whole_requests = true}),
            (std::vector<PageCall>{{kIova, kIova, 9 * kMiB, 1},
                                   {kIova + 9 * kMiB, kIova + 9 * kMiB, kMiB, 1}}));
}

TEST(Unmap, Type1UnmapsRunByRun) {
  const auto runs = scattered(kMiB, 10 * kMiB);
  const auto mapped = plan_map(runs, kIova, kSmmu4K);
  const auto calls = plan_unmap_vfio(runs, mapped, kSmmu4K);
  EXPECT_EQ(calls.size(), 10u);
  EXPECT_EQ(calls[1], (PageCall{kIova + kMiB, kIova + kMiB, 4096, 256}));
}

// A pfn_batch of 64 KiB holds 5461 runs; iommu_unmap() then takes a range apart by
// the bits of its pages: 5461 = 0b1010101010101, and 8192 - 5461 = 0b101010101011.
TEST(Unmap, IommufdUnmapsABatchOfRunsAtATime) {
  const vfio::iommu::MappingRules iommufd{.runs_per_unmap = 5461, .unmaps_per_sync = 1};
  const auto calls = [&](std::uint64_t chunk, std::uint64_t bytes, std::uint64_t page_sizes) {
    const auto runs = scattered(chunk, bytes);
    return plan_unmap_vfio(runs, plan_map(runs, kIova, page_sizes), page_sizes, {}, iommufd);
  };
  EXPECT_EQ(calls(4 * kKiB, 32 * kMiB, kAnyPower).size(), 7u + 7u);
  EXPECT_EQ(calls(4 * kKiB, 10 * kMiB, kSmmu4K).size(), 1u);
  EXPECT_EQ(calls(64 * kKiB, 32 * kMiB, kSmmu4K).size(), 1u);
  // 10 tables and 341 pages; 171 pages and 5 tables: each batch is synced by itself.
  const auto runs = scattered(4 * kKiB, 32 * kMiB);
  EXPECT_EQ(predict_smmuv3_vfio(runs, plan_map(runs, kIova, kSmmu4K), kSmmu4K, {}, iommufd),
            (Invalidations{21, 19}));
}

TEST(Unmap, Type1AsksPageByPageWhereAnUnmapRemovesMore) {
  const UnmapRules rules{.whole_requests = true, .page_by_page = true};
  const auto runs = scattered(64 * kKiB, 10 * kMiB);
  const auto mapped = plan_map(runs, kIova, kAnyPower);
  EXPECT_EQ(plan_unmap_vfio(runs, mapped, kAnyPower, rules).size(), mapped.size());
  // Without whole requests (AMD) a call removes one leaf: ten of 1 MiB.
  const pagemix_run run[] = {{0x40100000, 10 * kMiB}};
  const auto leaves = plan_map(run, kIova, kAnyPower);
  EXPECT_EQ(plan_unmap_vfio(run, leaves, kAnyPower, {.page_by_page = true}).size(), 10u);
}

TEST(Tlbi, RangesSplitByTheSignificantBitsOfTheirPages) {
  const auto commands = [](std::uint64_t pages) {
    return tlbi_commands(pages * 4096, 4096, 4096, true, true);
  };
  EXPECT_EQ(commands(1), 1u);
  EXPECT_EQ(commands(31), 1u);  // num = 31 at scale 0
  EXPECT_EQ(commands(32), 1u);  // num = 1 at scale 5
  EXPECT_EQ(commands(33), 2u);  // 1 + 32
  EXPECT_EQ(commands(512), 1u);
  EXPECT_EQ(commands(513), 2u);
  EXPECT_EQ(commands(2560), 1u);  // 5 at scale 9
  EXPECT_EQ(commands(1057), 3u);  // 1, 32 and 1024: 33 << 5 does not fit in five bits
}

TEST(Tlbi, WithoutRangesEveryPageIsACommand) {
  EXPECT_EQ(tlbi_commands(10 * kMiB, 4096, 4096, true, false), 2560u);
  EXPECT_EQ(tlbi_commands(10 * kMiB, 2 * kMiB, 4096, true, false), 5u);
}

TEST(Tlbi, ADroppedTableIsNeverExactlyOnePage) {
  // num_pages & 31 == 1 becomes 2, because of errata with one-page ranges.
  EXPECT_EQ(tlbi_commands(4096, 4096, 4096, false, true), 1u);
  // 33 pages would take two commands; 34 are 17 << 1, which is one.
  EXPECT_EQ(tlbi_commands(33 * 4096, 4096, 4096, true, true), 2u);
  EXPECT_EQ(tlbi_commands(33 * 4096, 4096, 4096, false, true), 1u);
}

TEST(Smmu, KnownAnswersOfTenMebibytes) {  // seen, Linux 6.12
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 10 * kMiB), kIova), (Invalidations{6, 6}));
  EXPECT_EQ(unmap_of(scattered(64 * kKiB, 10 * kMiB), kIova), (Invalidations{6, 6}));
  EXPECT_EQ(unmap_of(scattered(kMiB, 10 * kMiB), kIova), (Invalidations{6, 6}));
  EXPECT_EQ(unmap_of(scattered(2 * kMiB, 10 * kMiB), kIova), (Invalidations{1, 1}));
}

TEST(Smmu, OnlyRegionsThatHoldATableAreFlushedApart) {
  // Seen: 3 blocks and 2 tables: 2 flushes and the gathered one.
  std::vector<pagemix_run> runs = {{0x40000000, 6 * kMiB}};
  for (const pagemix_run& run : scattered(4 * kKiB, 4 * kMiB)) runs.push_back(run);
  EXPECT_EQ(unmap_of(runs, kIova), (Invalidations{3, 3}));
}

TEST(Smmu, OtherSizes) {
  // 64 KiB: 16 pages in one command. 1 MiB: 256 pages.
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 64 * kKiB), kIova), (Invalidations{1, 1}));
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, kMiB), kIova), (Invalidations{1, 1}));
  // 64 MiB: 32 tables, then 16384 pages at scale 14.
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 64 * kMiB), kIova), (Invalidations{33, 33}));
  // 2.25 MiB: a table, the gathered block; another page size syncs first.
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 2 * kMiB + 256 * kKiB), kIova), (Invalidations{3, 3}));
}

TEST(Smmu, KernelsBefore612DoNotGatherDroppedTables) {
  const SmmuRules old{.gathers_tables = false};
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 10 * kMiB), kIova, kSmmu4K, old), (Invalidations{5, 5}));
  EXPECT_EQ(unmap_of(scattered(2 * kMiB, 10 * kMiB), kIova, kSmmu4K, old), (Invalidations{1, 1}));
}

TEST(Smmu, LazyDomainsFlushOnlyDroppedTables) {
  const SmmuRules lazy{.lazy = true};
  EXPECT_EQ(unmap_of(scattered(4 * kKiB, 10 * kMiB), kIova, kSmmu4K, lazy), (Invalidations{5, 5}));
  EXPECT_EQ(unmap_of(scattered(2 * kMiB, 10 * kMiB), kIova, kSmmu4K, lazy), (Invalidations{0, 0}));
}

TEST(Smmu, Type1SyncsAfterEach512Runs) {
  const auto count = [](const std::vector<pagemix_run>& runs) {
    return predict_smmuv3_vfio(runs, plan_map(runs, kIova, kSmmu4K), kSmmu4K, {});
  };
  EXPECT_EQ(count(scattered(4 * kKiB, 10 * kMiB)), (Invalidations{5, 5}));
  EXPECT_EQ(count(scattered(64 * kKiB, 10 * kMiB)), (Invalidations{1, 1}));
  EXPECT_EQ(count(scattered(2 * kMiB, 10 * kMiB)), (Invalidations{1, 1}));
  // The first run is two pages: each sync after 512 runs then covers 513 pages
  // (two commands) and, later, 512 (one); 2559 runs leave 511 for the last.
  auto runs = scattered(4 * kKiB, 10 * kMiB);
  runs.erase(runs.begin());
  runs.front().bytes = 8192;
  EXPECT_EQ(count(runs), (Invalidations{2 + 1 + 1 + 1 + 2, 5}));
}

// VT-d has the SMMU's page sizes, 4K, 2M and 1G.
Invalidations vtd_unmap_of(std::span<const pagemix_run> runs, std::uint64_t iova) {
  const auto mapped = plan_map(runs, iova, kSmmu4K);
  return predict_vtd(mapped, plan_unmap(mapped, kSmmu4K));
}

TEST(Vtd, AWholeBufferIsOneRangeWhateverItsLeaves) {
  // One unmap_pages() call of five 2 MiB pages: gathered as one page of 10 MiB.
  for (const std::uint64_t chunk : {4 * kKiB, 64 * kKiB, kMiB, 2 * kMiB})
    EXPECT_EQ(vtd_unmap_of(scattered(chunk, 10 * kMiB), kIova), (Invalidations{1, 1}));
  EXPECT_EQ(vtd_unmap_of(scattered(4 * kKiB, 64 * kKiB), kIova), (Invalidations{1, 1}));
}

TEST(Vtd, CallsOfDifferentSizesAreInvalidatedApart) {
  // 2.25 MiB: a call of 2 MiB, then one of 64 pages.
  EXPECT_EQ(vtd_unmap_of(scattered(4 * kKiB, 2 * kMiB + 256 * kKiB), kIova), (Invalidations{2, 2}));
  // From 64 KiB below a 2 MiB boundary: 16 pages, 2 MiB, 496 pages.
  EXPECT_EQ(vtd_unmap_of(scattered(4 * kKiB, 4 * kMiB), kIova + 2 * kMiB - 64 * kKiB),
            (Invalidations{3, 3}));
}

TEST(Vtd, Type1SyncsAfterEach512RunsAndAtEveryOtherSize) {
  const auto count = [](const std::vector<pagemix_run>& runs) {
    return predict_vtd_vfio(runs, plan_map(runs, kIova, kSmmu4K), kSmmu4K);
  };
  EXPECT_EQ(count(scattered(4 * kKiB, 10 * kMiB)), (Invalidations{5, 5}));
  EXPECT_EQ(count(scattered(64 * kKiB, 10 * kMiB)), (Invalidations{1, 1}));
  EXPECT_EQ(count(scattered(2 * kMiB, 10 * kMiB)), (Invalidations{1, 1}));
  // One run of two pages among the others: before it, it, and behind it.
  std::vector<pagemix_run> runs = scattered(4 * kKiB, 400 * kKiB);
  runs[50].bytes = 8192;
  EXPECT_EQ(count(runs), (Invalidations{3, 3}));
}

TEST(Vtd, AnUnmapTakesTheWholeLeaf) {
  // 4 KiB of one leaf, then the next leaf: both are gathered as 2 MiB.
  const std::vector<PageCall> mapped = {{kIova, 0x40000000, 2 * kMiB, 2}};
  const std::vector<PageCall> asked = {{kIova, kIova, 4 * kKiB, 1},
                                       {kIova + 2 * kMiB, kIova + 2 * kMiB, 2 * kMiB, 1}};
  EXPECT_EQ(predict_vtd(mapped, asked), (Invalidations{1, 1}));
}

}  // namespace
}  // namespace pagemix::bench
