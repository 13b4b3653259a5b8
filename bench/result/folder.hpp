// SPDX-License-Identifier: Apache-2.0
// Where a run's result goes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pagemix::bench {

/// results/<date>-<machine>-<kernel>-<profile>: sorts by day and says what ran
/// where. UsageError when the time @p now (of utc_now()) is that of a clock that
/// nobody has set.
std::filesystem::path result_folder(const std::string& now, const std::string& machine,
                                    const std::string& profile);

/// UsageError when @p folder holds a result, or the journal of a run that ended
/// early: the caller was not told to replace it or to go on with it.
void require_free(const std::filesystem::path& folder);

}  // namespace pagemix::bench
