// SPDX-License-Identifier: Apache-2.0
// Can a run start here? What fixes it if not?
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "program/cli.hpp"

namespace pagemix::bench {

/// One line of the report.
struct Finding {
  enum class Kind { kGood, kNote, kProblem };  ///< only problems keep a run from starting
  Kind kind = Kind::kGood;
  std::string text;
  std::string remedy;  ///< command or instruction; "" when there is nothing to do
};

/// Looks at the machine and changes nothing. @p device as given by --device.
std::vector<Finding> examine(const std::optional<std::string>& device,
                             const vfio::SystemPaths& paths = {});

/// Writes the findings and a last line with the verdict. Returns the exit code.
int report(const std::vector<Finding>& findings, std::ostream& out);

/// `pagemix doctor`
int doctor_command(const DoctorOptions& options);

/// `pagemix list`
int list_command(const ListOptions& options);

}  // namespace pagemix::bench
