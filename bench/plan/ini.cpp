// SPDX-License-Identifier: Apache-2.0
#include "plan/ini.hpp"

#include <fstream>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

Ini parse_ini(const std::string& text, const std::string& name) {
  Ini found;
  std::string section;
  std::map<std::string, std::string> seen;  // entry or section -> where
  std::istringstream lines(text);
  std::string line;
  for (unsigned number = 1; std::getline(lines, line); ++number) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = name + ":" + std::to_string(number);
    std::string id;
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
      if (section.empty()) throw UsageError(where + ": section without a name");
      id = "section [" + section + "]";
      found.sections.push_back({section, where});
    } else {
      const std::size_t equals = line.find('=');
      const std::string key = trim(line.substr(0, equals));
      if (equals == std::string::npos || key.empty())
        throw UsageError(where + ": unreadable line \"" + line +
                         "\"; allowed: [section], key = value, # comment");
      id = "key \"" + key + "\" of [" + section + "]";
      found.entries.push_back({section, key, trim(line.substr(equals + 1)), where});
    }
    const auto [first, fresh] = seen.emplace(id, where);
    if (!fresh) throw UsageError(where + ": " + id + " is already at " + first->second);
  }
  return found;
}

Ini read_ini(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (std::filesystem::is_directory(file) || !stream || !(text << stream.rdbuf()))
    throw UsageError("cannot read " + file.string());
  return parse_ini(text.str(), file.string());
}

}  // namespace pagemix::bench
