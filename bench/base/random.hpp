// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace pagemix::bench {

/// Uniform 0..@p bound - 1. std::uniform_int_distribution and std::shuffle give
/// other numbers with another library; these are the same everywhere.
std::uint64_t draw(std::mt19937_64& random, std::uint64_t bound);

}  // namespace pagemix::bench
