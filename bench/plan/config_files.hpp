// SPDX-License-Identifier: Apache-2.0
// Where profiles and mixes lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pagemix::bench {

/// Folders shaped as configs/ is, the first that has a file wins: configs of
/// the current folder, /etc/pagemix, and what was installed with the program,
/// found from where the program itself lies.
std::vector<std::filesystem::path> config_folders();

/// The profile that --config names: a file, or NAME of profiles/NAME.ini in one
/// of @p folders. A text with a slash or the ending .ini is a file's, and may
/// not exist. UsageError lists the names there are.
std::filesystem::path find_profile(
    const std::string& text, const std::vector<std::filesystem::path>& folders = config_folders());

/// The profiles that can be named, each by the first folder that has it, by name.
std::vector<std::filesystem::path> named_profiles(
    const std::vector<std::filesystem::path>& folders = config_folders());

/// The mixes file that belongs to a profile when none is named: ../mixes.ini
/// beside @p profile (if given), else that of the first of @p folders.
/// UsageError lists the places when none exists.
std::filesystem::path find_mixes_file(
    const std::filesystem::path& profile,
    const std::vector<std::filesystem::path>& folders = config_folders());

}  // namespace pagemix::bench
