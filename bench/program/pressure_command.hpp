// SPDX-License-Identifier: Apache-2.0
// `pagemix pressure`: a state of memory, held while something else runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pressure/state.hpp"
#include "program/command_help.hpp"

namespace pagemix::bench {

struct PressureOptions {
  StateSpec spec;
  std::optional<std::chrono::seconds> hold;  ///< nullopt: until a signal or the command's end
  std::vector<std::string> command;          ///< runs while the state is held
};

/// Entry of commands().
CommandHelp pressure_help();

/// Arguments behind `pressure`. nullopt: --help was given. UsageError.
std::optional<PressureOptions> parse_pressure(const std::vector<std::string>& arguments);

/// Makes the state, says what was reached, holds it, undoes it. Returns the
/// command's exit code (128 + signal), or 0. RunError when the state was not
/// reached or its helper was lost; memory is then as before.
int pressure_command(const PressureOptions& options);

/// Free blocks by order and the part of free memory each order cannot use.
std::string format_memory(const MemorySnapshot& before, const MemorySnapshot& now);

}  // namespace pagemix::bench
