// SPDX-License-Identifier: Apache-2.0
// The command line: one table of options for each command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/clock.hpp"
#include "plan/profile.hpp"

namespace pagemix::bench {

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

struct DoctorOptions {
  std::optional<std::string> device;
};

struct ListOptions {
  std::optional<std::string> mixes_file;
};

/// Arguments behind the command's name. nullopt: --help was given and the help
/// is on standard output. UsageError for what the command does not know.
std::optional<RunOptions> parse_run(const std::vector<std::string>& arguments);
std::optional<DoctorOptions> parse_doctor(const std::vector<std::string>& arguments);
std::optional<ListOptions> parse_list(const std::vector<std::string>& arguments);

/// Does @p name match a --benchmark_filter? POSIX extended regular expression,
/// a leading '-' negates, as Google Benchmark reads it. UsageError when
/// unreadable.
bool matches_filter(const std::string& filter, const std::string& name);

}  // namespace pagemix::bench
