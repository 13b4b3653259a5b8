// SPDX-License-Identifier: Apache-2.0
// context.pagemix of run.json (docs/result-format.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "machine/clock.hpp"
#include "machine/heap_client.hpp"
#include "pagemix/vfio/pci/discovery.hpp"
#include "plan/mixes.hpp"
#include "plan/profile.hpp"

namespace pagemix::bench {

/// What the device's domain told while it was bound.
struct DomainFacts {
  std::uint64_t page_sizes = 0;  ///< 0: not known
  std::optional<bool> coherent;
};

/// Resolution and cost of a sample in clock units.
struct ClockFacts {
  std::string source;
  double resolution = 0;
  double overhead = 0;
};

/// The user-space clock, measured by 1001 pairs of readings.
ClockFacts user_clock_facts();

/// Everything a run knows before it measures; `context()` makes the JSON.
struct RunContext {
  const Profile& profile;
  const std::vector<Mix>& mixes;
  std::string machine;
  std::string profile_name;
  ClockKind clock = ClockKind::kHardwareNs;
  ClockFacts clock_facts{};
  std::optional<vfio::pci::DeviceInfo> device{};
  DomainFacts domain{};
  std::vector<std::string> domain_modes{};  ///< that the device was switched to; empty: none
  nlohmann::ordered_json drive{};           ///< Drive::json(); null without
  nlohmann::ordered_json counters{};        ///< IommuCounters::idle_check(); null without
  std::string module_version{};             ///< "" when no case needs the module
  std::string started{};
  std::vector<std::string> command{};  ///< as typed
  nlohmann::ordered_json buddyinfo_before{};
  nlohmann::ordered_json meminfo_before{};

  std::string stopped{};  ///< why the run could not go on; "": it did

  /// Reads memory and page tables' state "after" at the time of the call.
  nlohmann::ordered_json context(bool complete) const;
};

}  // namespace pagemix::bench
