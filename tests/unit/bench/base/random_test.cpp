// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace pagemix::bench {
namespace {

TEST(Random, DrawsAreEvenAndInRange) {
  std::mt19937_64 random(1);
  std::vector<unsigned> seen(7);
  for (int i = 0; i < 70000; ++i) {
    const std::uint64_t number = draw(random, 7);
    ASSERT_LT(number, 7u);
    ++seen[number];
  }
  // Binomial with mean 10000 and standard deviation 93: six of them either side.
  for (const unsigned count : seen) EXPECT_NEAR(count, 10000, 560);
  EXPECT_EQ(draw(random, 1), 0u);
}

}  // namespace
}  // namespace pagemix::bench
