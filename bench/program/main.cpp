// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pagemix/vfio/error.hpp"
#include "program/cli.hpp"
#include "program/command_help.hpp"
#include "program/doctor.hpp"
#include "program/pressure_command.hpp"
#include "revision.hpp"
#include "run/run.hpp"

namespace pagemix::bench {
namespace {

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    (arguments.empty() ? std::cerr : std::cout) << general_help();
    return arguments.empty() ? kExitUsage : kExitOk;
  }
  if (arguments[0] == "--version") {
    std::cout << "pagemix " << kVersion << " (" << kSourceRevision << ")\n";
    return kExitOk;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "run") {
    const auto options = parse_run(rest);
    return options ? run_command(*options) : kExitOk;
  }
  if (arguments[0] == "doctor") {
    const auto options = parse_doctor(rest);
    return options ? doctor_command(*options) : kExitOk;
  }
  if (arguments[0] == "list") {
    const auto options = parse_list(rest);
    return options ? list_command(*options) : kExitOk;
  }
  if (arguments[0] == "pressure") {
    const auto options = parse_pressure(rest);
    return options ? pressure_command(*options) : kExitOk;
  }
  throw UsageError("unknown command \"" + arguments[0] + "\"; allowed: " + command_names() +
                   ", --help, --version");
}

}  // namespace
}  // namespace pagemix::bench

int main(int argc, char** argv) {
  using namespace pagemix;
  try {
    return bench::dispatch({argv + 1, argv + argc});
  } catch (const bench::UsageError& error) {
    std::cerr << "pagemix: " << error.what() << '\n';
    return bench::kExitUsage;
  } catch (const vfio::DeviceInUse& error) {
    // Asking for a device that the system lives on is a wrong choice.
    std::cerr << "pagemix: " << error.what() << '\n';
    return bench::kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "pagemix: " << error.what() << '\n';
    return bench::kExitRun;
  }
}
