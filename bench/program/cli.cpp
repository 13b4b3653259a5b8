// SPDX-License-Identifier: Apache-2.0
#include "program/cli.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "program/command_help.hpp"
#include "program/pressure_command.hpp"

namespace pagemix::bench {
namespace {

namespace po = boost::program_options;

void add_help(po::options_description& options) {
  options.add_options()("help,h", "print this help and exit");
}

po::options_description run_options() {
  po::options_description options;
  const auto text = [](const std::string& name) {
    return po::value<std::string>()->value_name(name);
  };
  // A line an option:
  // clang-format off
  options.add_options()
      ("config", text("PROFILE"), "run profile: a file, or the name of one that pagemix list names")
      ("device", text("BDF"), "PCI device to map for; default: the only one without a driver")
      ("drive", text("BDF"), "NVMe drive for the use_* families; default: --device if it is one, "
                             "or the only one without a driver")
      ("out", text("DIR"), "result folder; default results/<date>-<machine>-<kernel>-<profile>")
      ("force", "replace a run.json that is already there")
      ("resume", "go on where a run in this folder ended early")
      ("mixes-file", text("FILE"), "mixes; default: ../mixes.ini beside the profile, "
                                   "or what pagemix list reads")
      ("clock", text("hardware-ns|instructions|emulated-ns"),
       "what the numbers count; default: hardware-ns; instructions: the caller runs under "
       "QEMU -icount")
      ("machine", text("NAME"), "name of the machine in the result")
      ("profile", text("NAME"), "name of the profile in the result; default: the file's")
      ("marker", text("FILE"), "write a line to FILE before and after each measured loop");
  // clang-format on
  add_help(options);
  return options;
}

po::options_description key_options() {
  po::options_description options;
  for (const ProfileKey* key : profile_keys()) {
    const std::string help = std::string(key->help) + "; default: " +
                             (key->fallback != nullptr ? key->fallback : "none, must be given");
    options.add_options()(key->name, po::value<std::string>()->value_name("VALUE"), help.c_str());
  }
  return options;
}

po::options_description benchmark_options() {
  po::options_description options;
  options.add_options()("benchmark_filter", po::value<std::string>()->value_name("REGEX"),
                        "only benchmarks whose name matches")(
      "benchmark_list_tests", po::value<std::string>()->implicit_value("true")->value_name("BOOL"),
      "print the names and exit")(
      "benchmark_context",
      po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"),
      "add to the context of run.json; may be repeated");
  return options;
}

po::options_description doctor_options() {
  po::options_description options;
  options.add_options()("device", po::value<std::string>()->value_name("BDF"),
                        "ask only for this device");
  add_help(options);
  return options;
}

po::options_description list_options() {
  po::options_description options;
  options.add_options()("mixes-file", po::value<std::string>()->value_name("FILE"),
                        "mixes; default: configs/mixes.ini, /etc/pagemix/mixes.ini, the installed");
  add_help(options);
  return options;
}

std::optional<std::string> optional_text(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

// Google Benchmark's other flags would change what a run is.
void refuse_benchmark_flag(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const auto is = [&](const char* flag) { return name == std::string("--benchmark_") + flag; };
  if (is("filter") || is("list_tests") || is("context")) return;
  if (is("min_time") || is("min_warmup_time") || is("repetitions") ||
      is("enable_random_interleaving"))
    throw UsageError(name +
                     " is refused: the profile's iterations, blocks, warmup and seed fix "
                     "what is repeated, so that runs compare; pass --iterations, --blocks or "
                     "--warmup");
  if (is("out") || is("out_format") || is("format"))
    throw UsageError(name +
                     " is refused: the result is always Google Benchmark's JSON in the "
                     "folder of --out");
  throw UsageError("unknown flag " + name +
                   "; allowed: --benchmark_filter, "
                   "--benchmark_list_tests, --benchmark_context");
}

void take_benchmark_flags(const po::variables_map& values, RunOptions& options) {
  if (const auto filter = optional_text(values, "benchmark_filter"))
    options.filter = filter->empty() || *filter == "all" ? "." : *filter;
  if (const auto listing = optional_text(values, "benchmark_list_tests")) {
    if (*listing != "true" && *listing != "false")
      throw UsageError("--benchmark_list_tests: unreadable value \"" + *listing +
                       "\"; allowed: true, false");
    options.list_tests = *listing == "true";
  }
  if (values.count("benchmark_context") != 0)
    for (const std::string& pair : values["benchmark_context"].as<std::vector<std::string>>())
      options.contexts.push_back("--benchmark_context=" + pair);
}

// The option tables are made when they are asked for: that is once.
const CommandHelp& help_of(const std::string& name) {
  static const std::vector<CommandHelp> all = commands();
  return *std::ranges::find(all, name, &CommandHelp::name);
}

}  // namespace

std::vector<CommandHelp> commands() {
  return {
      {"doctor",
       "[options]",
       "can a run start here, and what fixes it if not",
       "Says whether a run can start here and which command fixes what is missing.\n"
       "Changes nothing. Exit code 0 if a run can start, else 1.",
       {{"Options", doctor_options()}}},
      {"list",
       "[options]",
       "mixes, profiles, benchmark families, operations of the module",
       "Lists mixes with their steps, profiles, benchmark families and, for bound devices,\n"
       "the operations that the module offers.",
       {{"Options", list_options()}}},
      pressure_help(),
      {"run",
       "--config PROFILE [options]",
       "measure a profile and write the result folder",
       "Measures what a profile says and writes run.json and samples.npz.",
       {{"Options", run_options()},
        {"Keys of the profile, which replace the file's", key_options()},
        {"Google Benchmark's flags", benchmark_options()}}},
  };
}

std::optional<RunOptions> parse_run(const std::vector<std::string>& arguments) {
  RunOptions options;
  options.command = {"pagemix", "run"};
  for (const std::string& argument : arguments) {
    options.command.push_back(argument);
    if (argument.starts_with("--benchmark_")) refuse_benchmark_flag(argument);
  }
  const auto given = parse_options(help_of("run"), arguments);
  if (!given) return std::nullopt;
  const po::variables_map& values = *given;
  const auto config = optional_text(values, "config");
  if (!config || config->empty())
    throw UsageError("--config is missing; allowed: a profile such as quick (pagemix list)");
  options.config = *config;
  options.device = optional_text(values, "device");
  options.drive = optional_text(values, "drive");
  options.out = optional_text(values, "out");
  options.mixes_file = optional_text(values, "mixes-file");
  if (const auto clock = optional_text(values, "clock")) options.clock = parse_clock(*clock);
  options.machine = optional_text(values, "machine");
  options.marker = optional_text(values, "marker");
  options.profile = optional_text(values, "profile");
  take_benchmark_flags(values, options);
  options.force = values.count("force") != 0;
  options.resume = values.count("resume") != 0;
  for (const ProfileKey* key : profile_keys())
    if (const auto value = optional_text(values, key->name))
      options.overrides.push_back({key->name, *value});
  return options;
}

std::optional<DoctorOptions> parse_doctor(const std::vector<std::string>& arguments) {
  const auto values = parse_options(help_of("doctor"), arguments);
  if (!values) return std::nullopt;
  return DoctorOptions{optional_text(*values, "device")};
}

std::optional<ListOptions> parse_list(const std::vector<std::string>& arguments) {
  const auto values = parse_options(help_of("list"), arguments);
  if (!values) return std::nullopt;
  return ListOptions{optional_text(*values, "mixes-file")};
}

}  // namespace pagemix::bench
