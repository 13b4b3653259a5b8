// SPDX-License-Identifier: Apache-2.0
#include "result/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace pagemix::bench {

double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("quantile of no samples");
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("quantile outside of 0..1");
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

Summary summarize(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return {quantile(sorted, 0.5), quantile(sorted, 0.9), quantile(sorted, 0.99),
          quantile(sorted, 1.0)};
}

}  // namespace pagemix::bench
