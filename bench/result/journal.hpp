// SPDX-License-Identifier: Apache-2.0
// What a run has measured so far, so that a run that ended early can go on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pagemix/vfio/files.hpp"
#include "result/recorder.hpp"

namespace pagemix::bench {

/// journal.jsonl of the result folder: a line that says what is measured, then a
/// line for each case and block, on the disk before the next one starts.
class Journal {
 public:
  /// @p setting: everything that decides the numbers. Without @p resume an old
  /// journal is replaced; with it, its measurements are taken over. UsageError
  /// when there is none, or when it was made with another setting (names the
  /// first difference). A last line that is cut is dropped.
  Journal(const std::filesystem::path& folder, const nlohmann::ordered_json& setting, bool resume);

  static std::filesystem::path file_in(const std::filesystem::path& folder) {
    return folder / "journal.jsonl";
  }

  /// What an earlier start measured; nullptr if nothing.
  const Measurement* find(const std::string& name, std::uint32_t block) const;
  void add(const std::string& name, std::uint32_t block, const Measurement& measurement);
  /// The run is complete: nothing is left to go on with.
  void remove() noexcept;

  std::size_t taken_over() const { return kept_.size(); }

 private:
  void read(const nlohmann::ordered_json& setting);
  void append(const nlohmann::ordered_json& line) const;

  std::filesystem::path file_;
  vfio::UniqueFd fd_;
  std::map<std::pair<std::string, std::uint32_t>, Measurement> kept_;
};

}  // namespace pagemix::bench
