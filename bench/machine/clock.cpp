// SPDX-License-Identifier: Apache-2.0
#include "machine/clock.hpp"

#include <array>
#include <ctime>
#include <utility>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

constexpr std::array kClocks = {
    std::pair{ClockKind::kInstructions, "instructions"},
    std::pair{ClockKind::kHardwareNs, "hardware-ns"},
    std::pair{ClockKind::kEmulatedNs, "emulated-ns"},
};

}  // namespace

std::string to_string(ClockKind kind) {
  for (const auto& [value, name] : kClocks)
    if (value == kind) return name;
  return "unknown";
}

ClockKind parse_clock(const std::string& text) {
  for (const auto& [value, name] : kClocks)
    if (text == name) return value;
  throw UsageError("--clock: unknown clock \"" + text +
                   "\"; allowed: instructions, hardware-ns, emulated-ns");
}

std::string unit_name(ClockKind kind) {
  switch (kind) {
    case ClockKind::kInstructions:
      return "guest instructions";
    case ClockKind::kHardwareNs:
      return "ns";
    case ClockKind::kEmulatedNs:
      return "emulated ns";
  }
  return "unknown";
}

std::optional<std::string> looks_emulated(const vfio::SystemPaths& paths) {
  if (const auto compatible = vfio::read_text(paths.sys / "firmware/devicetree/base/compatible"))
    if (compatible->find("linux,dummy-virt") != std::string::npos)
      return "device tree says linux,dummy-virt";
  for (const char* file : {"sys_vendor", "product_name"})
    if (const auto text = vfio::read_line(paths.sys / "class/dmi/id" / file))
      if (text->find("QEMU") != std::string::npos)
        return std::string("DMI ") + file + " says " + *text;
  return std::nullopt;
}

ClockKind decide_clock(const std::optional<ClockKind>& chosen, const vfio::SystemPaths& paths) {
  if (chosen) return *chosen;
  if (const auto reason = looks_emulated(paths))
    throw UsageError("this machine looks emulated (" + *reason +
                     "): pass --clock instructions (under QEMU -icount), --clock emulated-ns or, "
                     "on a virtual machine with a real IOMMU, --clock hardware-ns");
  return ClockKind::kHardwareNs;
}

std::uint64_t user_now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

double ticks_to_units(std::uint64_t ticks, std::uint64_t counter_hz) {
  return static_cast<double>(ticks) * 1e9 / static_cast<double>(counter_hz);
}

}  // namespace pagemix::bench
