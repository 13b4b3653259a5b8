// SPDX-License-Identifier: Apache-2.0
#include "program/command_help.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

namespace po = boost::program_options;

std::string command_names() {
  std::vector<std::string> names;
  for (const CommandHelp& command : commands()) names.push_back(command.name);
  return join(names);
}

std::vector<ExitMeaning> exit_codes() {
  return {{kExitOk, "done"},
          {kExitRun, "the machine or the measurement failed; what was measured is kept"},
          {kExitUsage, "wrong usage or configuration, or a device that the system uses"},
          {kExitInterrupted, "interrupted; what was measured is kept"}};
}

OptionGroup general_options() {
  po::options_description table;
  table.add_options()("help,h", "print this help and exit; behind a command: its options")(
      "version", "print version and source revision and exit");
  return {"Without a command", table};
}

std::string general_help() {
  std::ostringstream text;
  text << "pagemix: " << kProgramSummary << "\n\nusage: pagemix COMMAND [options]\n\n";
  std::size_t width = 0;
  const std::vector<CommandHelp> all = commands();
  for (const CommandHelp& command : all) width = std::max(width, command.name.size());
  for (const CommandHelp& command : all)
    text << "  " << command.name << std::string(width - command.name.size() + 2, ' ')
         << command.summary << '\n';
  const OptionGroup general = general_options();
  text << '\n' << general.title << ":\n" << general.table << "\nExit codes:\n";
  for (const ExitMeaning& code : exit_codes()) {
    const std::string number = std::to_string(code.code);
    text << "  " << number << std::string(5 - number.size(), ' ') << code.meaning << '\n';
  }
  return text.str();
}

std::string command_help(const CommandHelp& command) {
  std::ostringstream text;
  text << "pagemix " << command.name << ' ' << command.synopsis << "\n\n"
       << command.description << '\n';
  for (const OptionGroup& group : command.groups)
    text << '\n' << group.title << ":\n" << group.table;
  return text.str();
}

std::optional<po::variables_map> parse_options(const CommandHelp& command,
                                               const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  po::options_description all;
  for (const OptionGroup& group : command.groups) all.add(group.table);
  po::variables_map values;
  try {
    const po::positional_options_description none;
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(none)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; allowed: see pagemix " + command.name +
                     " --help");
  }
  if (values.count("help") == 0) return values;
  std::cout << command_help(command);
  return std::nullopt;
}

}  // namespace pagemix::bench
