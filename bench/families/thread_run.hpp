// SPDX-License-Identifier: Apache-2.0
// One operation of the module in several threads at once: what contention costs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "families/module_run.hpp"

namespace pagemix::bench {

/// CPUs that this thread may run on, by number.
std::vector<int> usable_cpus();

/// Runs @p run in one thread for each of @p buffer_fds, on that buffer. Thread i is
/// pinned to the i-th of usable_cpus() and has a node, ring and warm-up of its own;
/// all start together. There must be a CPU for each thread.
///
/// Samples are those of all threads, one thread after the other. On hardware only
/// those count that lie wholly in the time in which every thread was measuring: who
/// ends last would map alone. In an emulator the host decides which CPU runs when;
/// all count there. @p counters gets thread<i>_median of each, and samples_alone: how
/// many were left out.
/// Throws with the case given up, or RunError when no sample is left.
ModuleRun run_threads(const Services& services, const TargetClient::Run& run,
                      std::span<const int> buffer_fds, const std::string& name, std::uint32_t block,
                      std::map<std::string, double>& counters);

}  // namespace pagemix::bench
