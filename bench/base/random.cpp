// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

namespace pagemix::bench {

std::uint64_t draw(std::mt19937_64& random, std::uint64_t bound) {
  // Numbers below this limit fall evenly on 0..bound-1; the rest is drawn again.
  const std::uint64_t limit = random.max() - random.max() % bound;
  std::uint64_t number = random();
  while (number >= limit) number = random();
  return number % bound;
}

}  // namespace pagemix::bench
