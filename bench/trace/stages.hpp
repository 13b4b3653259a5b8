// SPDX-License-Identifier: Apache-2.0
// Where the time of one kernel function goes, by the functions that it calls.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace pagemix::bench {

/// Begin or end of a kernel function in a thread.
struct CallEvent {
  bool begin = false;
  std::size_t function = 0;  ///< index of its name
  std::uint64_t ns = 0;      ///< CLOCK_MONOTONIC_RAW
  int pid = 0;               ///< thread in which it happened
};

/// A kernel function whose time is a stage, or a part of one.
struct StageFunction {
  const char* function;
  const char* stage;
};

/// Calls of one function, split by stage.
struct StageTimes {
  std::uint64_t calls = 0;              ///< whole ones
  double total = 0;                     ///< ns of all calls
  std::map<std::string, double> parts;  ///< ns by stage

  StageTimes& operator+=(const StageTimes& more);
};

/// @p events in order of time; those of threads other than @p pid do not count.
/// @p names of functions by index, of which @p root is the one that is split. Time
/// belongs to the outermost function of @p stages inside of root: pages that a map
/// allocates for its tables are part of the map. A call whose begin or end is not
/// there is left out.
StageTimes stage_times(int pid, std::span<const CallEvent> events,
                       std::span<const std::string> names, const std::string& root,
                       std::span<const StageFunction> stages);

}  // namespace pagemix::bench
