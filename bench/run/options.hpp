// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/clock.hpp"
#include "plan/profile.hpp"

namespace pagemix::bench {

/// What the command line of `pagemix run` says.
struct RunOptions {
  std::string config;
  std::optional<std::string> device;
  std::optional<std::string> drive;
  std::optional<std::string> out;
  std::optional<std::string> mixes_file;
  std::optional<ClockKind> clock;
  std::optional<std::string> machine;
  std::optional<std::string> marker;
  std::optional<std::string> profile;
  bool force = false;
  bool resume = false;                ///< go on with journal.jsonl of the folder
  std::vector<Override> overrides;    ///< keys of [run] given as options
  std::string filter = ".";           ///< --benchmark_filter
  bool list_tests = false;            ///< --benchmark_list_tests
  std::vector<std::string> contexts;  ///< --benchmark_context=KEY=VALUE flags
  std::vector<std::string> command;   ///< as typed, for the result
};

}  // namespace pagemix::bench
