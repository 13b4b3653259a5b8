// SPDX-License-Identifier: Apache-2.0
// Quantiles against values worked by hand and against numpy.
#include "result/statistics.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "support.hpp"

namespace pagemix::bench {
namespace {

TEST(Statistics, OneSampleIsEveryQuantile) {
  const double one[] = {7};
  const Summary summary = summarize(one);
  EXPECT_EQ(summary.median, 7);
  EXPECT_EQ(summary.p90, 7);
  EXPECT_EQ(summary.p99, 7);
  EXPECT_EQ(summary.max, 7);
}

TEST(Statistics, EvenCountsInterpolate) {
  const double samples[] = {4, 1, 3, 2};
  const Summary summary = summarize(samples);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.p90, 3.7);  // at 0.9 * 3 = 2.7: 3 + 0.7 * (4 - 3)
  EXPECT_DOUBLE_EQ(summary.p99, 3.97);
  EXPECT_EQ(summary.max, 4);
}

TEST(Statistics, NoSamplesAndBadQuantilesAreRefused) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  const double one[] = {1};
  EXPECT_THROW(quantile(one, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile(one, -0.1), std::invalid_argument);
}

TEST(Statistics, AgreesWithNumpy) {
  const std::vector<double> samples = {1747392, 1747411, 10752, 3, 99, 1e9, 17, 17, 17.5, 2e6, 42};
  std::ostringstream command;
  command << "/usr/bin/python3 -c 'import numpy as n; print(*[repr(float(v)) for v in n.quantile([";
  for (const double sample : samples) command << std::to_string(sample) << ',';
  command << "], [.5, .9, .99, 1])])'";
  const test::CommandResult result = test::run_command_line(command.str());
  ASSERT_EQ(result.code, 0) << result.output;
  std::istringstream numbers(result.output);
  const Summary summary = summarize(samples);
  for (const double ours : {summary.median, summary.p90, summary.p99, summary.max}) {
    double theirs = 0;
    ASSERT_TRUE(numbers >> theirs) << result.output;
    EXPECT_NEAR(ours, theirs, 1e-6 * theirs);
  }
}

}  // namespace
}  // namespace pagemix::bench
