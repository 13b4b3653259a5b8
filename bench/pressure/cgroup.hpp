// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// The tightest memory.max above this process.
struct CgroupLimit {
  std::string file;  ///< its memory.max
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;  ///< memory.current beside it

  std::uint64_t left() const { return used < bytes ? bytes - used : 0; }
};

/// Of the group with the least left, this process' or one above it, in the
/// unified hierarchy at /sys/fs/cgroup; nullopt without a limit.
std::optional<CgroupLimit> cgroup_memory_limit(const vfio::SystemPaths& paths = {});

}  // namespace pagemix::bench
