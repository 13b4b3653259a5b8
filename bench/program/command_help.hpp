// SPDX-License-Identifier: Apache-2.0
// What `--help`, the manual pages and the completion of the shell are made from.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

namespace pagemix::bench {

/// Options of a command that belong together. The table has no caption of its own.
struct OptionGroup {
  std::string title;
  boost::program_options::options_description table;
};

struct CommandHelp {
  std::string name;         ///< "run"
  std::string synopsis;     ///< what follows the name: "--config FILE [options]"
  std::string summary;      ///< what it does, in a few words without a full stop
  std::string description;  ///< sentences, broken into lines
  std::vector<OptionGroup> groups;
};

/// Every command, in the order of the alphabet.
std::vector<CommandHelp> commands();

/// What the program takes in place of a command.
OptionGroup general_options();

/// "doctor, list, pressure, run"
std::string command_names();

struct ExitMeaning {
  int code;
  const char* meaning;
};
std::vector<ExitMeaning> exit_codes();

/// What the program is, in one line.
inline constexpr const char* kProgramSummary =
    "what the pages behind a dma-buf cost: allocate, map, use, unmap";

/// Text of `pagemix --help`.
std::string general_help();

/// Text of `pagemix NAME --help`.
std::string command_help(const CommandHelp& command);

/// The options among @p arguments. nullopt: --help was one, and the help is on
/// standard output. UsageError for what the command does not know.
std::optional<boost::program_options::variables_map> parse_options(
    const CommandHelp& command, const std::vector<std::string>& arguments);

}  // namespace pagemix::bench
