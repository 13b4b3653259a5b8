// SPDX-License-Identifier: Apache-2.0
#include "plan/config_files.hpp"

#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

namespace fs = std::filesystem;

std::vector<fs::path> config_folders() {
  std::vector<fs::path> folders = {"configs", "/etc/pagemix"};
  std::error_code error;
  // PAGEMIX_DATA_FROM_PROGRAM is relative, so that an installed tree can be moved.
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error)
    folders.push_back(
        (program.parent_path() / PAGEMIX_DATA_FROM_PROGRAM / "configs").lexically_normal());
  return folders;
}

std::vector<fs::path> named_profiles(const std::vector<fs::path>& folders) {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / "profiles", error))
      if (entry.path().extension() == ".ini")
        found.emplace(entry.path().stem().string(), entry.path());
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : found) files.push_back(file);
  return files;
}

fs::path find_profile(const std::string& text, const std::vector<fs::path>& folders) {
  if (text.find('/') != std::string::npos || text.ends_with(".ini") || fs::is_regular_file(text))
    return text;
  std::vector<std::string> names;
  for (const fs::path& file : named_profiles(folders)) {
    if (file.stem() == text) return file;
    names.push_back(file.stem().string());
  }
  std::vector<std::string> places;
  for (const fs::path& folder : folders) places.push_back((folder / "profiles").string());
  throw UsageError("--config: no profile \"" + text + "\"; allowed: a file, or a name in " +
                   join(places) + ": " + (names.empty() ? "there is none" : join(names)));
}

fs::path find_mixes_file(const fs::path& profile, const std::vector<fs::path>& folders) {
  std::vector<std::string> places;
  if (!profile.empty())
    places.push_back((profile.parent_path() / ".." / "mixes.ini").lexically_normal().string());
  for (const fs::path& folder : folders) places.push_back((folder / "mixes.ini").string());
  for (const std::string& place : places)
    if (fs::exists(place)) return place;
  throw UsageError("no mixes file; pass --mixes-file FILE or make one of " + join(places));
}

}  // namespace pagemix::bench
