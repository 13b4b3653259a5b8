// SPDX-License-Identifier: Apache-2.0
#include "cli.hpp"

#include <regex.h>

#include <boost/program_options.hpp>
#include <iostream>
#include <memory>
#include <sstream>

#include "error.hpp"

namespace pagemix::bench {
namespace {

namespace po = boost::program_options;

void add_help(po::options_description& options) {
  options.add_options()("help,h", "print this help and exit");
}

po::options_description run_options() {
  po::options_description options("Options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("config", text("FILE"),
                        "run profile, for example configs/profiles/quick.ini")(
      "device", text("BDF"), "PCI device to map for; default: the only one without a driver")(
      "drive", text("BDF"),
      "NVMe drive for the use_* families; default: --device if it is one, "
      "or the only one without a driver")(
      "out", text("DIR"), "result folder; default results/<date>-<machine>-<kernel>-<profile>")(
      "force", "replace a run.json that is already there")(
      "mixes-file", text("FILE"),
      "mixes; default: ../mixes.ini beside the profile, "
      "configs/mixes.ini, /etc/pagemix/mixes.ini")(
      "clock", text("KIND"),
      "what the numbers count: hardware-ns (default), instructions "
      "(the caller runs under QEMU -icount), emulated-ns")("machine", text("NAME"),
                                                           "name of the machine in the result")(
      "profile", text("NAME"), "name of the profile in the result; default: the file's")(
      "marker", text("FILE"), "write a line to FILE before and after each measured loop");
  add_help(options);
  return options;
}

po::options_description key_options() {
  po::options_description options("Keys of the profile, which replace the file's");
  for (const ProfileKey& key : profile_keys()) {
    const std::string help = std::string(key.help) + "; default: " +
                             (key.fallback != nullptr ? key.fallback : "none, must be given");
    options.add_options()(key.name, po::value<std::string>()->value_name("VALUE"), help.c_str());
  }
  return options;
}

po::options_description doctor_options() {
  po::options_description options("Options");
  options.add_options()("device", po::value<std::string>()->value_name("BDF"),
                        "ask only for this device");
  add_help(options);
  return options;
}

po::options_description list_options() {
  po::options_description options("Options");
  options.add_options()("mixes-file", po::value<std::string>()->value_name("FILE"),
                        "mixes; default: configs/mixes.ini, /etc/pagemix/mixes.ini");
  add_help(options);
  return options;
}

po::variables_map parse(const std::string& command, const std::vector<std::string>& arguments,
                        const po::options_description& options) {
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    const po::positional_options_description none;
    po::store(po::command_line_parser(arguments)
                  .options(options)
                  .positional(none)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; allowed: see pagemix " + command + " --help");
  }
  return values;
}

std::optional<std::string> optional_text(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

// "--name=value" or "--name": {name, value}
std::pair<std::string, std::string> split_flag(const std::string& flag) {
  const std::size_t equals = flag.find('=');
  if (equals == std::string::npos) return {flag, "true"};
  return {flag.substr(0, equals), flag.substr(equals + 1)};
}

// Google Benchmark's flags that keep their meaning here.
void take_benchmark_flag(const std::string& flag, RunOptions& options) {
  const auto [name, value] = split_flag(flag);
  if (name == "--benchmark_filter") {
    options.filter = value.empty() || value == "all" ? "." : value;
  } else if (name == "--benchmark_list_tests") {
    if (value != "true" && value != "false")
      throw UsageError(name + ": unreadable value \"" + value + "\"; allowed: true, false");
    options.list_tests = value == "true";
  } else if (name == "--benchmark_context") {
    options.contexts.push_back(flag);
  } else if (name == "--benchmark_min_time" || name == "--benchmark_min_warmup_time" ||
             name == "--benchmark_repetitions" ||
             name == "--benchmark_enable_random_interleaving") {
    throw UsageError(name +
                     " is refused: the profile's iterations, blocks, warmup and seed fix "
                     "what is repeated, so that runs compare; pass --iterations, --blocks or "
                     "--warmup");
  } else if (name == "--benchmark_out" || name == "--benchmark_out_format" ||
             name == "--benchmark_format") {
    throw UsageError(name +
                     " is refused: the result is always Google Benchmark's JSON in the "
                     "folder of --out");
  } else {
    throw UsageError("unknown flag " + name +
                     "; allowed: --benchmark_filter, "
                     "--benchmark_list_tests, --benchmark_context");
  }
}

std::string run_help() {
  std::ostringstream text;
  text << "pagemix run --config FILE [options]\n\n"
          "Measures what a profile says and writes run.json and samples.npz.\n\n"
       << run_options() << '\n'
       << key_options()
       << "\nGoogle Benchmark's flags:\n"
          "  --benchmark_filter=REGEX     only benchmarks whose name matches\n"
          "  --benchmark_list_tests       print the names and exit\n"
          "  --benchmark_context=KEY=VAL  add to the context of run.json\n";
  return text.str();
}

}  // namespace

std::optional<RunOptions> parse_run(const std::vector<std::string>& arguments) {
  RunOptions options;
  options.command = {"pagemix", "run"};
  std::vector<std::string> own;
  for (const std::string& argument : arguments) {
    options.command.push_back(argument);
    if (argument.starts_with("--benchmark_"))
      take_benchmark_flag(argument, options);
    else
      own.push_back(argument);
  }
  po::options_description all;
  all.add(run_options()).add(key_options());
  const po::variables_map values = parse("run", own, all);
  if (values.count("help") != 0) {
    std::cout << run_help();
    return std::nullopt;
  }
  const auto config = optional_text(values, "config");
  if (!config || config->empty())
    throw UsageError("--config is missing; allowed: a profile such as configs/profiles/quick.ini");
  options.config = *config;
  options.device = optional_text(values, "device");
  options.drive = optional_text(values, "drive");
  options.out = optional_text(values, "out");
  options.mixes_file = optional_text(values, "mixes-file");
  if (const auto clock = optional_text(values, "clock")) options.clock = parse_clock(*clock);
  options.machine = optional_text(values, "machine");
  options.marker = optional_text(values, "marker");
  options.profile = optional_text(values, "profile");
  options.force = values.count("force") != 0;
  for (const ProfileKey& key : profile_keys())
    if (const auto value = optional_text(values, key.name))
      options.overrides.push_back({key.name, *value});
  return options;
}

std::optional<DoctorOptions> parse_doctor(const std::vector<std::string>& arguments) {
  const po::variables_map values = parse("doctor", arguments, doctor_options());
  if (values.count("help") != 0) {
    std::cout << "pagemix doctor [options]\n\n"
                 "Says whether a run can start here and which command mends what is missing.\n"
                 "Changes nothing. Exit code 0 if a run can start, else 1.\n\n"
              << doctor_options();
    return std::nullopt;
  }
  return DoctorOptions{optional_text(values, "device")};
}

std::optional<ListOptions> parse_list(const std::vector<std::string>& arguments) {
  const po::variables_map values = parse("list", arguments, list_options());
  if (values.count("help") != 0) {
    std::cout << "pagemix list [options]\n\n"
                 "Lists mixes with their steps, benchmark families and, for bound devices, the\n"
                 "operations that the module offers.\n\n"
              << list_options();
    return std::nullopt;
  }
  return ListOptions{optional_text(values, "mixes-file")};
}

std::string general_help() {
  return "pagemix: what the pages behind a dma-buf cost: allocate, map, use, unmap\n\n"
         "usage: pagemix COMMAND [options]\n\n"
         "  doctor   can a run start here, and what mends it if not\n"
         "  list     mixes, benchmark families, operations of the module\n"
         "  pressure bring memory into a state and hold it\n"
         "  run      measure a profile and write the result folder\n\n"
         "  pagemix COMMAND --help   options of a command\n"
         "  pagemix --version        version and source revision\n\n"
         "exit codes: 0 done, 1 the machine or the measurement failed, 2 wrong usage or\n"
         "configuration, 130 interrupted (what was measured is kept)\n";
}

bool matches_filter(const std::string& filter, const std::string& name) {
  const bool negated = filter.starts_with('-');
  const std::string pattern = negated ? filter.substr(1) : filter;
  regex_t compiled;
  if (const int error = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    char text[256];
    regerror(error, &compiled, text, sizeof(text));
    throw UsageError("--benchmark_filter: unreadable \"" + pattern + "\" (" + text +
                     "); allowed: a POSIX extended regular expression");
  }
  const std::unique_ptr<regex_t, void (*)(regex_t*)> freed(&compiled, regfree);
  return (regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0) != negated;
}

}  // namespace pagemix::bench
