// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "pagemix/vfio/vfio.hpp"

namespace pagemix::vfio::iommu {
namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t top = ~std::uint64_t{0};
constexpr std::uint64_t smmu_4k = 0x40201000;  // 4 KiB, 2 MiB, 1 GiB

int errnum_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.errnum();
  }
  return 0;
}

TEST(LeafAlignment, IsTheLargestPageSizeThatFits) {
  EXPECT_EQ(leaf_alignment(smmu_4k, 10 * MiB), 2 * MiB);
  EXPECT_EQ(leaf_alignment(smmu_4k, 2 * MiB), 2 * MiB);
  EXPECT_EQ(leaf_alignment(smmu_4k, 2 * MiB - 1), 4 * KiB);
  EXPECT_EQ(leaf_alignment(smmu_4k, 1), 4 * KiB);
  EXPECT_EQ(leaf_alignment(smmu_4k, 3072 * MiB), 1024 * MiB);
}

TEST(LeafAlignment, StopsAtOneGiBWhereEveryPowerOfTwoIsAPageSize) {
  constexpr std::uint64_t virtio = ~std::uint64_t{0xfff};
  EXPECT_EQ(leaf_alignment(virtio, 10 * MiB), 8 * MiB);
  EXPECT_EQ(leaf_alignment(virtio, std::uint64_t{1} << 40), 1024 * MiB);
}

TEST(LeafAlignment, RefusesNothing) {
  EXPECT_EQ(errnum_of([] { leaf_alignment(0, 4096); }), EINVAL);
  EXPECT_EQ(errnum_of([] { leaf_alignment(smmu_4k, 0); }), EINVAL);
}

TEST(IovaAllocator, TakesTheFirstFitAndSkipsZero) {
  IovaAllocator allocator(std::vector<IovaRange>{{0, 0x7ffffff}, {0x8100000, top}}, 4096);
  EXPECT_EQ(allocator.allocate(1, 4096), 0x1000U);
  EXPECT_EQ(allocator.allocate(10 * MiB, 2 * MiB), 2 * MiB);
  EXPECT_EQ(allocator.allocate(8192, 4096), 0x2000U);
}

TEST(IovaAllocator, NeverReachesIntoAReservedRange) {
  IovaAllocator allocator(std::vector<IovaRange>{{0, 0x7ffffff}, {0x8100000, top}}, 4096);
  // 128 MiB do not fit below the MSI window once IOVA 0 is left out.
  EXPECT_EQ(allocator.allocate(128 * MiB, 2 * MiB), 0x8200000U);
}

TEST(IovaAllocator, KeepsTheLimit) {
  IovaAllocator allocator(std::vector<IovaRange>{{0x1000, top}}, 4096);
  EXPECT_EQ(allocator.allocate(0x1000, 4096, 0x2fff), 0x1000U);
  EXPECT_EQ(allocator.allocate(0x1000, 4096, 0x2fff), 0x2000U);
  EXPECT_FALSE(allocator.try_allocate(0x1000, 4096, 0x2fff));
  EXPECT_FALSE(allocator.try_allocate(0x1000, 4096, 0x3ffe));
  EXPECT_EQ(allocator.try_allocate(0x1000, 4096, 0x3fff), 0x3000U);
}

TEST(IovaAllocator, ReachesTheTopOfTheAddressSpace) {
  IovaAllocator allocator(std::vector<IovaRange>{{top - 0x1fff, top}}, 4096);
  EXPECT_EQ(allocator.free_bytes(), 0x2000U);
  EXPECT_EQ(allocator.allocate(0x1000, 4096), top - 0x1fff);
  EXPECT_EQ(allocator.allocate(0x1000, 4096), top - 0xfff);
  EXPECT_FALSE(allocator.try_allocate(1, 4096));
  EXPECT_FALSE(allocator.try_allocate(1, std::uint64_t{1} << 63));
}

TEST(IovaAllocator, CutsRangesToGranules) {
  const std::vector<IovaRange> ranges{
      {0x1001, 0x4ffe}, {0x6000, 0x6fff}, {0x7000, 0x7fff}, {0x9001, 0x9fff}};
  const IovaAllocator allocator(ranges, 4096);
  EXPECT_EQ(allocator.free_ranges(), (std::vector<IovaRange>{{0x2000, 0x3fff}, {0x6000, 0x7fff}}));
}

TEST(IovaAllocator, TakesRangesInAnyOrder) {
  const IovaAllocator allocator(std::vector<IovaRange>{{0x8000, 0x8fff}, {0x1000, 0x1fff}}, 4096);
  EXPECT_EQ(allocator.free_ranges(), (std::vector<IovaRange>{{0x1000, 0x1fff}, {0x8000, 0x8fff}}));
}

TEST(IovaAllocator, RefusesBadInput) {
  using Ranges = std::vector<IovaRange>;
  EXPECT_EQ(errnum_of([] { IovaAllocator(Ranges{{0x2000, 0x1000}}, 4096); }), EINVAL);
  EXPECT_EQ(errnum_of([] {
              IovaAllocator(Ranges{{0x1000, 0x2fff}, {0x2000, 0x3fff}}, 4096);
            }),
            EINVAL);
  EXPECT_EQ(errnum_of([] { IovaAllocator(Ranges{{0, top}}, 0); }), EINVAL);
  EXPECT_EQ(errnum_of([] { IovaAllocator(Ranges{{0, top}}, 4095); }), EINVAL);
  IovaAllocator allocator(Ranges{{0x1000, 0xffff}}, 4096);
  EXPECT_EQ(errnum_of([&] { allocator.allocate(0, 4096); }), EINVAL);
  EXPECT_EQ(errnum_of([&] { allocator.allocate(4096, 0); }), EINVAL);
  EXPECT_EQ(errnum_of([&] { allocator.allocate(4096, 12288); }), EINVAL);
  EXPECT_EQ(errnum_of([&] { allocator.allocate(top, 4096); }), EINVAL);
  EXPECT_EQ(errnum_of([&] { allocator.free(0x1000, 4096); }), EINVAL);
  const std::uint64_t iova = allocator.allocate(8192, 4096);
  EXPECT_EQ(errnum_of([&] { allocator.free(iova, 4096); }), EINVAL);
  EXPECT_EQ(errnum_of([&] { allocator.free(iova + 4096, 4096); }), EINVAL);
  allocator.free(iova, 8192);
  EXPECT_EQ(errnum_of([&] { allocator.free(iova, 8192); }), EINVAL);
}

TEST(IovaAllocator, ExhaustionNamesTheLargestFreeRange) {
  IovaAllocator allocator(std::vector<IovaRange>{{0x1000, 0x4fff}, {0x8000, 0x8fff}}, 4096);
  try {
    allocator.allocate(0x5000, 4096);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), ENOSPC);
    EXPECT_NE(std::string(error.what()).find("the largest has 16384 bytes"), std::string::npos)
        << error.what();
  }
}

/// The allocator's contract, granule by granule.
class NaiveModel {
 public:
  NaiveModel(const std::vector<IovaRange>& ranges, std::uint64_t granules)
      : granules_(granules, state_reserved) {
    for (const IovaRange& range : ranges)
      for (std::uint64_t g = range.first / 4096; g <= range.last / 4096; ++g)
        if (g != 0) granules_[g] = state_free;
  }
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment,
                                        std::uint64_t limit) {
    const std::uint64_t count = (bytes + 4095) / 4096;
    for (std::uint64_t g = 0; g + count <= granules_.size(); g += alignment / 4096) {
      if ((g + count) * 4096 - 1 > limit) break;
      bool fits = true;
      for (std::uint64_t i = g; i < g + count; ++i) fits = fits && granules_[i] == state_free;
      if (!fits) continue;
      for (std::uint64_t i = g; i < g + count; ++i) granules_[i] = state_used;
      return g * 4096;
    }
    return std::nullopt;
  }
  void free(std::uint64_t iova, std::uint64_t bytes) {
    for (std::uint64_t i = iova / 4096; i < (iova + bytes + 4095) / 4096; ++i)
      granules_[i] = state_free;
  }
  std::vector<IovaRange> free_ranges() const {
    std::vector<IovaRange> found;
    for (std::uint64_t g = 0; g < granules_.size(); ++g) {
      if (granules_[g] != state_free) continue;
      if (!found.empty() && found.back().last + 1 == g * 4096)
        found.back().last += 4096;
      else
        found.push_back({g * 4096, g * 4096 + 4095});
    }
    return found;
  }

 private:
  enum State : char { state_reserved, state_free, state_used };
  std::vector<State> granules_;
};

TEST(IovaAllocator, AgreesWithANaiveModelOverRandomHistories) {
  const std::vector<IovaRange> ranges{{0, 0xfffff}, {0x140000, 0x17ffff}, {0x181000, 0x3fffff}};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    IovaAllocator allocator(ranges, 4096);
    NaiveModel model(ranges, 0x400);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    int refused = 0;
    for (int step = 0; step < 300; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 0x80000 : 0x8000);
        const std::uint64_t alignment = std::uint64_t{4096} << random() % 6;
        const std::uint64_t limit = random() % 3 == 0 ? random() % 0x400000 : top;
        const auto got = allocator.try_allocate(bytes, alignment, limit);
        ASSERT_EQ(got, model.allocate(bytes, alignment, limit)) << "seed " << seed << ", " << step;
        if (got)
          live.emplace_back(*got, bytes);
        else
          ++refused;
      } else {
        const std::size_t index = random() % live.size();
        allocator.free(live[index].first, live[index].second);
        model.free(live[index].first, live[index].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
      }
      ASSERT_EQ(allocator.free_ranges(), model.free_ranges()) << "seed " << seed << ", " << step;
    }
    EXPECT_GT(refused, 0) << "seed " << seed << " never filled the space";
    for (const auto& [iova, bytes] : live) allocator.free(iova, bytes);
    EXPECT_EQ(allocator.free_ranges(), IovaAllocator(ranges, 4096).free_ranges());
  }
}

}  // namespace
}  // namespace pagemix::vfio::iommu
