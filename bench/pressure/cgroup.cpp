// SPDX-License-Identifier: Apache-2.0
#include "pressure/cgroup.hpp"

#include <sstream>

#include "base/text.hpp"

namespace pagemix::bench {
namespace {

// The line "0::/user.slice/x" of /proc/self/cgroup; "" without a unified hierarchy.
std::string own_group(const vfio::SystemPaths& paths) {
  std::istringstream lines(vfio::read_text(paths.proc / "self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

}  // namespace

std::optional<CgroupLimit> cgroup_memory_limit(const vfio::SystemPaths& paths) {
  const std::filesystem::path root = paths.sys / "fs/cgroup";
  std::optional<CgroupLimit> tightest;
  for (std::filesystem::path group = own_group(paths); !group.empty();
       group = group.parent_path()) {
    const auto file = root / group / "memory.max";
    const auto limit = parse_number(vfio::read_line(file).value_or("max"));
    if (!limit) continue;  // "max", or no memory controller
    const CgroupLimit found{
        file.string(), *limit,
        parse_number(vfio::read_line(root / group / "memory.current").value_or("0")).value_or(0)};
    if (!tightest || found.left() < tightest->left()) tightest = found;
  }
  return tightest;
}

}  // namespace pagemix::bench
