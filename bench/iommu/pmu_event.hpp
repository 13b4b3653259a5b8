// SPDX-License-Identifier: Apache-2.0
// Performance monitoring units and their events as sysfs describes them
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// What perf_event_open() needs to count one event of one unit.
struct PmuEvent {
  std::string unit;                       ///< "smmuv3_pmcg_9050000"
  std::string name;                       ///< "tlb_miss"
  std::uint32_t type = 0;                 ///< perf_event_attr.type
  std::array<std::uint64_t, 3> config{};  ///< config, config1, config2
  int cpu = 0;                            ///< a CPU of the unit's cpumask

  friend bool operator==(const PmuEvent&, const PmuEvent&) = default;
};

/// Bits of config, config1 or config2 that one term of an event sets.
struct PmuField {
  std::size_t config = 0;  ///< index into PmuEvent::config
  struct Range {
    unsigned first = 0;
    unsigned last = 0;
  };
  std::vector<Range> ranges;  ///< lowest bits of the value go into the first
};

/// Reads a format file: "config:0-15", "config1:32", "config:0-7,32-35".
/// nullopt when it says anything else.
std::optional<PmuField> parse_pmu_format(std::string_view text);

/// Puts @p value into the bits of @p field. False when it does not fit.
bool set_pmu_field(const PmuField& field, std::uint64_t value,
                   std::array<std::uint64_t, 3>& config);

/// Reads the event @p name of the unit in @p folder: files type, cpumask,
/// format/*, events/<name> ("event=0x2", "event_group=0x1,event=0x001"; a term
/// without value is 1). RunError names the file and what is wrong with it;
/// nullopt when the unit has no such event.
std::optional<PmuEvent> read_pmu_event(const std::filesystem::path& folder,
                                       const std::string& name);

/// Folders of the units whose names begin with @p prefix, by name.
std::vector<std::filesystem::path> find_pmus(const std::string& prefix,
                                             const vfio::SystemPaths& paths = {});

}  // namespace pagemix::bench
