// SPDX-License-Identifier: Apache-2.0
// pagemix_describe FILE: writes what pagemix --help prints as JSON. Runs in the
// build, for the manual page and the completion; not installed.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "program/command_help.hpp"

namespace pagemix::bench {
namespace {

using nlohmann::ordered_json;
namespace po = boost::program_options;

ordered_json option_json(const po::option_description& option) {
  ordered_json names = ordered_json::array();
  // The long name when there is no short one.
  const std::string brief =
      option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  if (brief.starts_with('-')) names.push_back(brief);
  names.push_back("--" + option.long_name());
  const po::value_semantic& value = *option.semantic();
  return {{"names", names},
          {"value", value.max_tokens() == 0 ? "" : value.name()},
          {"help", option.description()}};
}

ordered_json group_json(const OptionGroup& group) {
  ordered_json options = ordered_json::array();
  for (const auto& option : group.table.options()) options.push_back(option_json(*option));
  return {{"title", group.title}, {"options", options}};
}

ordered_json command_json(const CommandHelp& command) {
  ordered_json groups = ordered_json::array();
  for (const OptionGroup& group : command.groups) groups.push_back(group_json(group));
  return {{"name", command.name},
          {"synopsis", command.synopsis},
          {"summary", command.summary},
          {"description", command.description},
          {"groups", groups}};
}

ordered_json program_json() {
  ordered_json all = ordered_json::array();
  for (const CommandHelp& command : commands()) all.push_back(command_json(command));
  ordered_json exits = ordered_json::array();
  for (const ExitMeaning& exit : exit_codes()) exits.push_back({exit.code, exit.meaning});
  return {{"name", "pagemix"},
          {"summary", kProgramSummary},
          {"groups", {group_json(general_options())}},
          {"commands", all},
          {"exits", exits}};
}

}  // namespace
}  // namespace pagemix::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pagemix_describe FILE\n";
    return 2;
  }
  std::ofstream file(argv[1]);
  file << pagemix::bench::program_json().dump(1) << '\n';
  file.close();
  if (!file) {
    std::cerr << "pagemix_describe: cannot write " << argv[1] << '\n';
    return 1;
  }
  return 0;
}
