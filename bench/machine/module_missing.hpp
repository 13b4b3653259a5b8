// SPDX-License-Identifier: Apache-2.0
// Why pagemix.ko is not loaded, and what loads it.
#pragma once

#include <filesystem>
#include <string>

namespace pagemix::bench {

struct ModuleMissing {
  std::string why;     ///< "module pagemix is not loaded"
  std::string remedy;  ///< commands
};

/// Looks for the module below @p root: installed for the kernel @p release, its
/// DKMS source there but not built, or neither.
ModuleMissing module_missing(const std::string& release, const std::filesystem::path& root = "/");

}  // namespace pagemix::bench
