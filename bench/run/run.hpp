// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"
#include "run/options.hpp"

namespace pagemix::bench {

/// `pagemix run`. Returns an exit code; throws UsageError, RunError and the
/// vfio library's errors before anything is measured.
int run_command(const RunOptions& options);

}  // namespace pagemix::bench
