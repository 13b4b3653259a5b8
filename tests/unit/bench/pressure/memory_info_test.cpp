// SPDX-License-Identifier: Apache-2.0
// Text of the kernel's files to numbers: sums over zones, types the heap cannot
// use, capped counts, the unusable free space index by its definition.
#include "pressure/memory_info.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "pressure/cgroup.hpp"
#include "pressure/state.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

constexpr const char* kBuddy =
    "Node 0, zone      DMA      1      0      2      0      1      0      0      0      0      0   "
    "   3 \n"
    "Node 0, zone   Normal     10      4      0      0      0      0      0      0      1      0   "
    "   0 \n";

// As a 6.12 kernel prints it, with a count that it caps.
constexpr const char* kTypes =
    "Page block order: 9\n"
    "Pages per block:  512\n"
    "\n"
    "Free pages count per migrate type at order       0      1      2      3      4 \n"
    "Node    0, zone      DMA, type    Unmovable      8      0      0      0      1 \n"
    "Node    0, zone      DMA, type      Movable >100000      2      0      0      0 \n"
    "Node    0, zone      DMA, type  Reclaimable      0      0      0      0      2 \n"
    "Node    0, zone      DMA, type   HighAtomic      5      0      0      0      7 \n"
    "Node    0, zone      DMA, type          CMA      0      0      0      0     64 \n"
    "Node    0, zone      DMA, type      Isolate      0      0      0      0      9 \n"
    "\n"
    "Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA      "
    "Isolate \n"
    "Node 0, zone      DMA           39          947            6            0           32        "
    "    0 \n";

TEST(MemoryInfo, BuddyinfoSumsZones) {
  const FreeBlocks free = parse_buddyinfo(kBuddy);
  EXPECT_EQ(free.blocks[0], 11u);
  EXPECT_EQ(free.blocks[2], 2u);
  EXPECT_EQ(free.pages(), 11u + 4 * 2 + 2 * 4 + 16 + 256 + 3 * 1024);
  EXPECT_EQ(free.pages_at_least(5), 256u + 3 * 1024);
  EXPECT_EQ(free.blocks_at_least(8), 13u);
}

TEST(MemoryInfo, UnusableIndexIsThePartInSmallerBlocks) {
  FreeBlocks free;
  free.blocks[0] = 48;
  free.blocks[4] = 1;
  EXPECT_DOUBLE_EQ(free.unusable(0), 0);
  EXPECT_DOUBLE_EQ(free.unusable(4), 0.75);
  EXPECT_DOUBLE_EQ(free.unusable(5), 1);
  EXPECT_DOUBLE_EQ(FreeBlocks{}.unusable(4), 0) << "no free page, and no division by it";
}

TEST(MemoryInfo, PagetypeinfoLeavesOutWhatTheHeapCannotGet) {
  const PageTypes types = parse_pagetypeinfo(kTypes);
  EXPECT_EQ(types.free.at("CMA").blocks[4], 64u);
  EXPECT_EQ(types.page_blocks.at("Movable"), 947u);
  EXPECT_EQ(types.page_blocks.at("CMA"), 32u);
  const FreeBlocks usable = types.usable();
  EXPECT_EQ(usable.blocks[0], 100008u);
  EXPECT_EQ(usable.blocks[1], 2u);
  EXPECT_EQ(usable.blocks[4], 3u);
}

TEST(MemoryInfo, WatermarksAreThoseOfZonesNotOfPerCpuLists) {
  const Watermarks marks = parse_watermarks(
      "Node 0, zone      DMA\n  pages free     3000\n        boost    0\n        min      100\n"
      "        low      125\n        high     150\n        protection: (0, 0)\n"
      "  pagesets\n    cpu: 0\n              count:    37\n              high:     9999\n"
      "Node 0, zone   Normal\n        min      10\n        low      20\n        high     30\n");
  EXPECT_EQ(marks.min, 110u);
  EXPECT_EQ(marks.low, 145u);
  EXPECT_EQ(marks.high, 180u);
}

TEST(MemoryInfo, CpuListsAreThoseOfAllCpusAndZones) {
  const CpuLists lists = parse_cpu_lists(
      "Node 0, zone DMA\n        high     150\n count: 5\n  pagesets\n    cpu: 0\n"
      "              count:    37\n              high:     100\n              batch:    63\n"
      "    cpu: 1\n              count:    3\n              high:     50\n"
      "Node 0, zone Normal\n  pagesets\n    cpu: 0\n              count:    2\n");
  EXPECT_EQ(lists.pages, 42u);
  EXPECT_EQ(lists.high, 150u);
}

TEST(MemoryInfo, VmstatDeltaSumsStallsOfZonesAndLeavesOutTheRest) {
  const VmStat before = parse_vmstat("nr_free_pages 5\nallocstall_dma 1\ncompact_stall 7\n");
  const VmStat after = parse_vmstat(
      "nr_free_pages 9\nallocstall_dma 3\nallocstall_normal 4\ncompact_stall 9\npgscan_direct 6\n");
  const auto delta = vmstat_delta(before, after);
  EXPECT_EQ(delta.at("allocstall"), 6);
  EXPECT_EQ(delta.at("allocstall_dma"), 2);
  EXPECT_EQ(delta.at("compact_stall"), 2);
  EXPECT_EQ(delta.at("pgscan_direct"), 6);
  EXPECT_FALSE(delta.contains("nr_free_pages"));
}

TEST(MemoryInfo, AFileThatCannotBeReadIsNamed) {
  const test::TemporaryFolder folder;
  vfio::SystemPaths paths;
  paths.proc = folder.path();
  folder.write("buddyinfo", kBuddy);
  try {
    memory_snapshot(paths);
    FAIL() << "nothing was thrown";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("pagetypeinfo"), std::string::npos) << error.what();
  }
}

// What judge() sees of a machine of @p pages with watermarks 100, 125, 150.
MemorySnapshot memory(std::uint64_t small, std::uint64_t large_blocks) {
  MemorySnapshot now;
  now.usable.blocks[0] = small;
  now.usable.blocks[10] = large_blocks;
  now.watermarks = {100, 125, 150};
  now.free_pages = small + large_blocks * 1024;
  return now;
}

TEST(Judge, FreshWantsLargeBlocks) {
  const StateSpec fresh{.state = "fresh"};
  EXPECT_TRUE(judge(fresh, {}, memory(1000, 1)).reached);
  EXPECT_FALSE(judge(fresh, {}, memory(1100, 1)).reached);
}

TEST(Judge, FragmentedAndPinnedWantNearlyNoBlockAndRoomLeft) {
  for (const char* name : {"fragmented", "pinned"}) {
    const StateSpec spec{.state = name};
    EXPECT_TRUE(judge(spec, {}, memory(100000, 1)).reached) << name;
    EXPECT_FALSE(judge(spec, {}, memory(10000, 1)).reached) << name;
    const Verdict starved = judge(spec, {}, memory(200, 0));
    EXPECT_FALSE(starved.reached) << name << ": twice the high watermark must stay free";
    EXPECT_NE(starved.text.find("wanted at least"), std::string::npos);
  }
}

TEST(Judge, FragmentedMeetsAnotherTargetFromBothSides) {
  const StateSpec half{.state = "fragmented", .unusable = 0.5};
  EXPECT_TRUE(judge(half, {}, memory(1024, 1)).reached);
  EXPECT_FALSE(judge(half, {}, memory(1200, 1)).reached) << "54 % are too many";
  EXPECT_FALSE(judge(half, {}, memory(900, 1)).reached) << "47 % are too few";
}

TEST(Judge, LowWantsFreeMemoryBetweenItsMarksAndPageCache) {
  const StateSpec low{.state = "low"};
  MemorySnapshot now = memory(300, 0);
  now.file_pages = std::uint64_t{1} << 40;
  EXPECT_TRUE(judge(low, {}, now).reached);
  now.free_pages = 125;
  EXPECT_FALSE(judge(low, {}, now).reached) << "at the low watermark kswapd runs";
  now.free_pages = 496;
  EXPECT_FALSE(judge(low, {}, now).reached);
  now.free_pages = 300;
  now.file_pages = 0;
  EXPECT_FALSE(judge(low, {}, now).reached) << "nothing to reclaim";
}

TEST(Judge, AgedWantsUseAndBrokenUpMemory) {
  const StateSpec aged{.state = "aged"};
  const MemorySnapshot before = memory(0, 100);
  EXPECT_TRUE(judge(aged, before, memory(20000, 20)).reached);
  EXPECT_FALSE(judge(aged, before, memory(100, 20)).reached);
  EXPECT_FALSE(judge(aged, before, memory(60000, 60)).reached) << "most is still free";
}

TEST(Cgroup, TightestLimitOfTheGroupsAbove) {
  const test::TemporaryFolder folder;
  vfio::SystemPaths paths;
  paths.proc = folder.path() / "proc";
  paths.sys = folder.path() / "sys";
  EXPECT_FALSE(cgroup_memory_limit(paths)) << "no cgroup file";
  folder.write("proc/self/cgroup", "1:name=x:/old\n0::/a/b\n");
  folder.write("sys/fs/cgroup/a/memory.max", "3000\n");
  folder.write("sys/fs/cgroup/a/memory.current", "2900\n");
  folder.write("sys/fs/cgroup/a/b/memory.max", "1000\n");
  folder.write("sys/fs/cgroup/a/b/memory.current", "10\n");
  const auto limit = cgroup_memory_limit(paths);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->left(), 100u);
  EXPECT_TRUE(limit->file.ends_with("sys/fs/cgroup/a/memory.max")) << limit->file;
  folder.write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory_limit(paths)->left(), 990u);
}

}  // namespace
}  // namespace pagemix::bench
