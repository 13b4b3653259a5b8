// SPDX-License-Identifier: Apache-2.0
// The table at the end.
#include "result/table.hpp"

#include <gtest/gtest.h>

namespace pagemix::bench {
namespace {

TEST(Table, RowsFollowTheCasesAndTheHeaderNamesTheClock) {
  const std::vector<Case> cases = {
      {.family = "map_sgtable",
       .mix = "8-4-0",
       .layout = "scattered",
       .bytes = 10485760,
       .timer = {}},
      {.family = "map_sgtable",
       .mix = "order0",
       .layout = "scattered",
       .bytes = 10485760,
       .cold = true,
       .timer = {}},
      {.family = "unmap_sgtable", .mix = "order0", .layout = "buddy", .bytes = 4096, .timer = {}},
      {.family = "sample_cost", .mix = {}, .layout = {}, .timer = "user"},
  };
  const std::map<std::string, Series> series = {
      {cases[0].name(),
       {{73616, 73656}, {{"chunks_order8", 9.5}, {"chunks_order4", 8}, {"leaves_4096", 2560}}}},
      {cases[1].name(), {{1747392}, {{"leaves_2097152", 5}, {"leaves_4096", 12}}}},
      {cases[3].name(), {{73}, {}}},
  };
  EXPECT_EQ(
      format_table(cases, series, ClockKind::kInstructions),
      "median and p90 in guest instructions\n"
      "family              mix     layout      bytes     median        p90  chunks              "
      "leaves\n"
      "map_sgtable         8-4-0   scattered  10 MiB     73,636     73,652  9.5 x 2^8, 8 x 2^4  "
      "2560 x 4 KiB\n"
      "map_sgtable (cold)  order0  scattered  10 MiB  1,747,392  1,747,392                      "
      "5 x 2 MiB, 12 x 4 KiB\n"
      "sample_cost (user)                                    73         73\n");
}

TEST(Table, TheUnitFollowsTheClock) {
  EXPECT_EQ(format_table({}, {}, ClockKind::kHardwareNs).substr(0, 21), "median and p90 in ns\n");
  EXPECT_EQ(format_table({}, {}, ClockKind::kEmulatedNs).substr(0, 30),
            "median and p90 in emulated ns\n");
}

}  // namespace
}  // namespace pagemix::bench
