// SPDX-License-Identifier: Apache-2.0
// Hardware counters of the IOMMU around a measured pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iommu/pmu_event.hpp"
#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// One column of the result: an event, counted by every unit that has it.
struct IommuColumn {
  std::string name;              ///< as in run.json: iotlb_miss
  std::vector<PmuEvent> events;  ///< one a unit; their counts are added up
};

/// The columns this machine offers of those with a line `pmu` in configs/counters.ini;
/// empty without such a unit. RunError when a file of a unit cannot be understood.
std::vector<IommuColumn> find_iommu_columns(const vfio::SystemPaths& paths = {});

/// The names that units begin with: "smmuv3_pmcg_*, dmar*".
std::string iommu_units();

/// Counts one column after the other: a unit may have a single counter that
/// fits, and others may be in use.
class IommuCounters {
 public:
  explicit IommuCounters(std::vector<IommuColumn> columns) : columns_(std::move(columns)) {}

  const std::vector<IommuColumn>& columns() const { return columns_; }

  /// Counts @p column while @p action runs. RunError naming unit and event
  /// when the kernel refuses the counter.
  static double count(const IommuColumn& column, const std::function<void()>& action);

  /// Runs @p action once a column, @p ready before each, not counted. Adds what
  /// can be derived: iotlb_miss = iotlb_lookup - iotlb_hit where the unit
  /// counts these two.
  std::map<std::string, double> count_all(const std::function<void()>& ready,
                                          const std::function<void()>& action) const;

  /// Sanity check: counts every column while nothing runs for 20 ms. Units
  /// count all devices behind them, so what is counted now would be counted
  /// as the benchmark's. Opens every counter once.
  /// [{"column", "event", "units": [...], "idle": n, "idle_ms": 20}]
  nlohmann::ordered_json idle_check() const;

 private:
  std::vector<IommuColumn> columns_;
};

}  // namespace pagemix::bench
