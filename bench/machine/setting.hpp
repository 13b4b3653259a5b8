// SPDX-License-Identifier: Apache-2.0
// A kernel setting that is changed for a while.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// Where the old values of changed settings are noted, one file each.
inline constexpr const char* kSettingNotes = "/run/pagemix/settings";

/// Has another value while it lives, and the old one afterwards. Does nothing
/// where the kernel does not have the setting. The old value is noted in
/// @p notes before it is replaced, in a file that is locked while this lives, so
/// that the next start puts back what a killed process left.
class Setting {
 public:
  /// RunError when @p file is there and cannot be written, when the note cannot
  /// be, and when another process has changed the setting.
  Setting(std::string file, const std::string& value,
          const std::filesystem::path& notes = kSettingNotes);
  ~Setting();
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string file_;
  std::filesystem::path note_;
  vfio::UniqueFd lock_;
  std::string old_;  ///< "": nothing was changed
};

/// Puts back every setting whose note no living process holds. A line for each:
/// what was restored, or why it could not be. Without notes it does nothing.
std::vector<std::string> restore_stale_settings(const std::filesystem::path& notes = kSettingNotes);

}  // namespace pagemix::bench
