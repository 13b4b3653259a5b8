// SPDX-License-Identifier: Apache-2.0
// INI files with the line of every entry, which messages name: Boost.Program_options
// reads such files too, and tells the line of nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pagemix::bench {

/// One `key = value`.
struct IniEntry {
  std::string section;  ///< "" before the first [section]
  std::string key;
  std::string value;  ///< without a trailing `# comment`
  std::string where;  ///< "file.ini:12", for messages
};

/// One `[section]` line.
struct IniSection {
  std::string name;
  std::string where;
};

struct Ini {
  std::vector<IniSection> sections;  ///< in file order
  std::vector<IniEntry> entries;     ///< in file order
};

/// Reads @p file. UsageError "file:line: ..." for a line that is neither blank,
/// comment, section nor `key = value`, for a key or section given twice, and for
/// a file that cannot be read.
Ini read_ini(const std::filesystem::path& file);

/// The same for text; @p name stands for the file in messages.
Ini parse_ini(const std::string& text, const std::string& name);

}  // namespace pagemix::bench
