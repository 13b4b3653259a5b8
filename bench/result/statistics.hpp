// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace pagemix::bench {

/// Quantile @p q (0..1) of samples sorted ascending, with linear interpolation
/// between the two neighbours (numpy's default), so that plots/ computes the
/// same from the raw samples. @p sorted must not be empty.
double quantile(std::span<const double> sorted, double q);

/// Summary of one block, in the unit of the samples.
struct Summary {
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

/// @p samples must not be empty; their order does not matter.
Summary summarize(std::span<const double> samples);

}  // namespace pagemix::bench
