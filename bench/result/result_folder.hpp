// SPDX-License-Identifier: Apache-2.0
// Where a run's result goes.
#pragma once

#include <filesystem>
#include <string>

#include "program/cli.hpp"

namespace pagemix::bench {

/// --out, or results/<date>-<machine>-<kernel>-<profile>: sorts by day and says
/// what ran where.
std::filesystem::path result_folder(const RunOptions& options, const std::string& machine,
                                    const std::string& profile);

/// UsageError when @p folder holds a result, or the journal of a run that ended
/// early, and neither --force nor --resume was given.
void require_free(const std::filesystem::path& folder, const RunOptions& options);

}  // namespace pagemix::bench
