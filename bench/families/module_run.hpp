// SPDX-License-Identifier: Apache-2.0
// One case whose samples come from an operation of the module.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "families/family.hpp"
#include "machine/target_client.hpp"

namespace pagemix::bench {

/// What a run of the module left.
struct ModuleRun {
  std::vector<double> samples;  ///< in the clock's unit
  std::uint64_t iova = 0;       ///< first DMA address of the last mapping
  std::uint64_t nr_mapped = 0;  ///< DMA segments of it; blocks of a pool
};

/// Warms up by profile.warmup untimed repetitions (not for a cold run), then
/// takes profile.iterations samples between the markers of `name` and `block`.
/// Warm-up is a run of its own, so that its IOMMU events stay outside of the
/// markers. `run.repetitions` is ignored. Throws with the case given up.
ModuleRun run_module(const Services& services, TargetClient::Run run, const std::string& name,
                     std::uint32_t block);

/// Why a family cannot be measured: the first of `operations` that the module
/// does not have; nullopt if it has them all.
std::optional<std::string> missing_operation(const TargetClient& target,
                                             std::initializer_list<const char*> operations);

}  // namespace pagemix::bench
