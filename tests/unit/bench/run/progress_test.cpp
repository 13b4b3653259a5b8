// SPDX-License-Identifier: Apache-2.0
// The estimate of the time left.
#include "run/progress.hpp"

#include <gtest/gtest.h>

namespace pagemix::bench {
namespace {

TEST(Progress, NothingIsKnownBeforeTheFirstCase) {
  const Estimate estimate(3, 2);
  EXPECT_FALSE(estimate.left().has_value());
  EXPECT_EQ(estimate.total(), 6u);
}

TEST(Progress, UnknownCasesTakeTheMeanAndKnownOnesTheirOwnTime) {
  Estimate estimate(3, 2);
  estimate.finished(0, 10);
  EXPECT_DOUBLE_EQ(*estimate.left(), 10 + 20 + 20);  // all like the only one
  estimate.finished(1, 2);
  EXPECT_DOUBLE_EQ(*estimate.left(), 10 + 2 + 2 * 6);  // the third: mean of 10 and 2
  estimate.finished(2, 6);
  EXPECT_DOUBLE_EQ(*estimate.left(), 18);
  estimate.finished(0, 12);
  EXPECT_DOUBLE_EQ(*estimate.left(), 2 + 6);
  estimate.finished(1, 2);
  estimate.finished(2, 6);
  EXPECT_DOUBLE_EQ(*estimate.left(), 0);
  EXPECT_EQ(estimate.done(), estimate.total());
}

TEST(Progress, TheLineSaysWhatRunsAndHowLong) {
  EXPECT_EQ(progress_line(12, 64, "map_sgtable/mix:order4", 34.2),
            "[12/64] map_sgtable/mix:order4 35 s left");
  EXPECT_EQ(progress_line(3, 128, "a", std::nullopt), "[  3/128] a");
}

}  // namespace
}  // namespace pagemix::bench
