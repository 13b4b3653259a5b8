// SPDX-License-Identifier: Apache-2.0
// The command line: one table of options for each command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/options.hpp"

namespace pagemix::bench {

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

}  // namespace pagemix::bench
