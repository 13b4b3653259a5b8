// SPDX-License-Identifier: Apache-2.0
// Stages of a kernel function, from call sequences worked out by hand.
#include "trace/stages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace pagemix::bench {
namespace {

constexpr int kMe = 100;
enum Function : std::size_t { kRoot, kPages, kMap, kUnknown };
const std::vector<std::string> kNames = {"dma_alloc_attrs", "__alloc_pages", "iommu_map_sg",
                                         "split_page"};
constexpr std::array kStages = {StageFunction{"__alloc_pages", "page_allocation"},
                                StageFunction{"iommu_map_sg", "map"}};

CallEvent begin(Function function, std::uint64_t ns, int pid = kMe) {
  return {.begin = true, .function = function, .ns = ns, .pid = pid};
}

CallEvent end(Function function, std::uint64_t ns, int pid = kMe) {
  return {.begin = false, .function = function, .ns = ns, .pid = pid};
}

StageTimes split(const std::vector<CallEvent>& events) {
  return stage_times(kMe, events, kNames, "dma_alloc_attrs", kStages);
}

TEST(Stages, AddUpOverCalls) {
  const StageTimes times =
      split({begin(kRoot, 100), begin(kPages, 110), end(kPages, 150), begin(kPages, 160),
             end(kPages, 165), begin(kMap, 170), end(kMap, 190), end(kRoot, 200),  //
             begin(kRoot, 300), begin(kPages, 301), end(kPages, 303), end(kRoot, 310)});
  EXPECT_EQ(times.calls, 2u);
  EXPECT_EQ(times.total, 110);
  EXPECT_EQ(times.parts.at("page_allocation"), 40 + 5 + 2);
  EXPECT_EQ(times.parts.at("map"), 20);
}

TEST(Stages, PagesOfPageTablesBelongToTheMap) {
  const StageTimes times = split({begin(kRoot, 0), begin(kMap, 10), begin(kPages, 20),
                                  end(kPages, 40), end(kMap, 60), end(kRoot, 70)});
  EXPECT_EQ(times.parts.at("map"), 50);
  EXPECT_FALSE(times.parts.contains("page_allocation"));
}

TEST(Stages, AFunctionWithoutAStageIsTheRest) {
  const StageTimes times =
      split({begin(kRoot, 0), begin(kUnknown, 10), end(kUnknown, 20), end(kRoot, 30)});
  EXPECT_EQ(times.total, 30);
  EXPECT_TRUE(times.parts.empty());
}

TEST(Stages, OtherThreadsAndCallsOutsideDoNotCount) {
  const StageTimes times = split(
      {begin(kPages, 1), end(kPages, 2), begin(kRoot, 5, 7), begin(kRoot, 10), begin(kPages, 11, 7),
       end(kPages, 19, 7), end(kRoot, 20), end(kRoot, 30, 7), begin(kMap, 40), end(kMap, 50)});
  EXPECT_EQ(times.calls, 1u);
  EXPECT_EQ(times.total, 10);
  EXPECT_TRUE(times.parts.empty());
}

TEST(Stages, ACallThatIsNotWholeIsLeftOut) {
  // Recording began inside of the first; the second has no end.
  const StageTimes times =
      split({end(kPages, 5), end(kRoot, 9), begin(kRoot, 10), begin(kMap, 12), end(kMap, 18),
             begin(kRoot, 20), begin(kMap, 22), end(kMap, 25), end(kRoot, 30)});
  EXPECT_EQ(times.calls, 1u);
  EXPECT_EQ(times.total, 10);
  EXPECT_EQ(times.parts.at("map"), 3);
}

TEST(Stages, SumsOfRuns) {
  StageTimes sum;
  sum += {.calls = 1, .total = 10, .parts = {{"map", 4}}};
  sum += {.calls = 2, .total = 30, .parts = {{"map", 5}, {"iova", 6}}};
  EXPECT_EQ(sum.calls, 3u);
  EXPECT_EQ(sum.total, 40);
  EXPECT_EQ(sum.parts, (std::map<std::string, double>{{"iova", 6}, {"map", 9}}));
}

}  // namespace
}  // namespace pagemix::bench
