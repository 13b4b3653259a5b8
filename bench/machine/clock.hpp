// SPDX-License-Identifier: Apache-2.0
// Which clock the numbers of a run carry, and how they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// What one unit of a sample is.
enum class ClockKind {
  kInstructions,  ///< guest instruction: QEMU -icount shift=0, 1 ns each
  kHardwareNs,    ///< nanosecond of a real machine
  kEmulatedNs,    ///< nanosecond inside an emulator: noise, not for publishing
};

/// "instructions", "hardware-ns", "emulated-ns"
std::string to_string(ClockKind kind);

/// The reverse; UsageError with the allowed values.
ClockKind parse_clock(const std::string& text);

/// "guest instructions", "ns", "emulated ns": the unit in tables.
std::string unit_name(ClockKind kind);

/// Why this machine looks like an emulator ("device tree says
/// linux,dummy-virt"); nullopt when it does not.
std::optional<std::string> looks_emulated(const vfio::SystemPaths& paths = {});

/// The clock of a run: @p chosen, or hardware-ns. UsageError when nothing was
/// chosen and the machine looks emulated: the caller must say which clock it is.
ClockKind decide_clock(const std::optional<ClockKind>& chosen, const vfio::SystemPaths& paths = {});

/// CLOCK_MONOTONIC_RAW in nanoseconds. Not disturbed by NTP, and read in user
/// space without a system call on arm64 and x86.
std::uint64_t user_now_ns() noexcept;

/// Counter ticks in clock units. Under -icount a nanosecond is an instruction,
/// so the same arithmetic serves all clocks.
double ticks_to_units(std::uint64_t ticks, std::uint64_t counter_hz);

}  // namespace pagemix::bench
