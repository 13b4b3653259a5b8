// SPDX-License-Identifier: Apache-2.0
// Properties of every plan, on random buffers: exact coverage without overlap,
// every leaf aligned on both sides, no leaf that could have been larger.
#include <gtest/gtest.h>

#include <random>

#include "base/random.hpp"
#include "iommu/leaves.hpp"

namespace pagemix::bench {
namespace {

struct Buffer {
  std::vector<pagemix_run> runs;
  std::uint64_t iova = 0;
  std::uint64_t page_sizes = 0;
};

constexpr std::uint64_t kPageSizes[] = {0x40201000, 0x42211000, ~std::uint64_t{0xfff},
                                        0x1000,     0x2004000,  0x20010000};

// A few to a hundred runs of 1 to 600 granules, some of them touching.
Buffer random_buffer(std::mt19937_64& random) {
  Buffer buffer;
  buffer.page_sizes = kPageSizes[draw(random, std::size(kPageSizes))];
  const std::uint64_t granule = buffer.page_sizes & (~buffer.page_sizes + 1);
  buffer.iova = (draw(random, 4096) + 1) * (draw(random, 2) == 0 ? granule : granule * 512);
  std::uint64_t phys = std::uint64_t{1} << 32;
  for (std::uint64_t left = 1 + draw(random, 100); left > 0; --left) {
    const std::uint64_t bytes = (1 + draw(random, draw(random, 4) == 0 ? 600 : 40)) * granule;
    buffer.runs.push_back({phys, bytes});
    phys += bytes + (draw(random, 3) == 0 ? 0 : (1 + draw(random, 700)) * granule);
  }
  return buffer;
}

void check_map(const Buffer& buffer, std::span<const PageCall> calls) {
  std::uint64_t iova = buffer.iova;
  std::size_t run = 0;
  std::uint64_t inside = 0;
  const auto runs = merge_runs(buffer.runs);
  for (const PageCall& call : calls) {
    ASSERT_EQ(call.iova, iova);
    ASSERT_LT(run, runs.size());
    ASSERT_EQ(call.phys, runs[run].phys + inside);
    ASSERT_NE(call.page_bytes & buffer.page_sizes, 0u);
    ASSERT_EQ(call.page_bytes & (call.page_bytes - 1), 0u);
    ASSERT_EQ((call.iova | call.phys) % call.page_bytes, 0u);
    ASSERT_GT(call.count, 0u);
    const std::uint64_t room = runs[run].bytes - inside;
    ASSERT_LE(call.bytes(), room);
    // No larger page fits at the first address.
    for (std::uint64_t larger = call.page_bytes << 1; larger != 0 && larger <= room; larger <<= 1) {
      if ((buffer.page_sizes & larger) == 0) continue;
      ASSERT_NE((call.iova | call.phys) & (larger - 1), 0u);
    }
    inside += call.bytes();
    iova += call.bytes();
    if (inside == runs[run].bytes) {
      ++run;
      inside = 0;
    }
  }
  EXPECT_EQ(run, runs.size());
  EXPECT_EQ(iova, buffer.iova + total_bytes(buffer.runs));
}

void check_tiles(const Buffer& buffer, std::span<const PageCall> calls) {
  std::uint64_t iova = buffer.iova;
  for (const PageCall& call : calls) {
    ASSERT_EQ(call.iova, iova);
    ASSERT_GT(call.bytes(), 0u);
    iova += call.bytes();
  }
  EXPECT_EQ(iova, buffer.iova + total_bytes(buffer.runs));
}

TEST(LeavesProperty, PlansCoverExactlyAndUseTheLargestPages) {
  std::mt19937_64 random(20230201);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    SCOPED_TRACE("buffer " + std::to_string(i));
    const Buffer buffer = random_buffer(random);
    const auto mapped = plan_map(buffer.runs, buffer.iova, buffer.page_sizes);
    check_map(buffer, mapped);
    for (const bool whole : {false, true}) {
      check_tiles(buffer, plan_unmap(mapped, buffer.page_sizes, {.whole_requests = whole}));
      for (const bool paged : {false, true})
        check_tiles(buffer, plan_unmap_vfio(buffer.runs, mapped, buffer.page_sizes,
                                            {.whole_requests = whole, .page_by_page = paged}));
    }
  }
}

TEST(LeavesProperty, LeavesAddUpToTheBuffer) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const Buffer buffer = random_buffer(random);
    std::uint64_t bytes = 0;
    for (const auto& [size, count] :
         count_leaves(plan_map(buffer.runs, buffer.iova, buffer.page_sizes)))
      bytes += size * count;
    ASSERT_EQ(bytes, total_bytes(buffer.runs));
  }
}

TEST(LeavesProperty, InvalidationsStayWithinTheirBounds) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 500; ++i) {
    Buffer buffer = random_buffer(random);
    if ((buffer.page_sizes & 0x2000) != 0) continue;  // no SMMU has such leaves
    const auto mapped = plan_map(buffer.runs, buffer.iova, buffer.page_sizes);
    const auto unmapped = plan_unmap(mapped, buffer.page_sizes);
    const Invalidations strict = predict_smmuv3(mapped, unmapped, buffer.page_sizes, {});
    const Invalidations lazy = predict_smmuv3(mapped, unmapped, buffer.page_sizes, {.lazy = true});
    ASSERT_GE(strict.sync, 1u);
    ASSERT_GE(strict.tlbi, strict.sync);  // each sync ends at least one command
    ASSERT_LT(lazy.sync, strict.sync);
    const Invalidations vfio = predict_smmuv3_vfio(buffer.runs, mapped, buffer.page_sizes, {});
    ASSERT_GE(vfio.sync, 1u);
  }
}

}  // namespace
}  // namespace pagemix::bench
