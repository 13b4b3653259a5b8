// SPDX-License-Identifier: Apache-2.0
// The table at the end of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/clock.hpp"
#include "plan/cases.hpp"
#include "result/recorder.hpp"

namespace pagemix::bench {

/// Chunks by order as "10 x 2^8, 16 x 2^4"; "" without such counters.
std::string format_chunks(const std::map<std::string, double>& counters);

/// Leaves by size as "2560 x 4 KiB"; "" without such counters.
std::string format_leaves(const std::map<std::string, double>& counters);

/// One row a measured case, in the order of @p cases; the header names the
/// clock. Quantiles are those of all blocks together.
std::string format_table(const std::vector<Case>& cases,
                         const std::map<std::string, Series>& series, ClockKind clock);

}  // namespace pagemix::bench
