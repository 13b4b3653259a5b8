// SPDX-License-Identifier: Apache-2.0
#include "result/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Measurement& measurement) {
  ordered_json entries = ordered_json::array();
  for (const SampleEntry& entry : measurement.entries)
    entries.push_back({{"suffix", entry.suffix}, {"counters", entry.counters}});
  ordered_json skipped = ordered_json::array();
  for (const Skipped& item : measurement.skipped)
    skipped.push_back({{"what", item.what}, {"why", item.why}});
  return {{"samples", measurement.samples},
          {"counters", measurement.counters},
          {"entries", entries},
          {"arrays", measurement.arrays},
          {"skipped", skipped}};
}

Measurement from_json(const ordered_json& json) {
  Measurement measurement;
  json.at("samples").get_to(measurement.samples);
  json.at("counters").get_to(measurement.counters);
  json.at("arrays").get_to(measurement.arrays);
  for (const auto& entry : json.at("entries"))
    measurement.entries.push_back({entry.at("suffix"), entry.at("counters")});
  for (const auto& item : json.at("skipped"))
    measurement.skipped.push_back({item.at("what"), item.at("why")});
  return measurement;
}

// "config/run.blocks: 2 then, 3 now" of the first value that differs.
std::string first_difference(const ordered_json& then, const ordered_json& now) {
  const auto old_values = then.flatten();
  const auto new_values = now.flatten();
  for (const auto& [key, value] : new_values.items())
    if (!old_values.contains(key) || old_values[key] != value)
      return key.substr(1) + ": " +
             (old_values.contains(key) ? old_values[key].dump() : "nothing") + " then, " +
             value.dump() + " now";
  return "a value that is no more";
}

}  // namespace

Journal::Journal(const std::filesystem::path& folder, const ordered_json& setting, bool resume)
    : file_(file_in(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RunError("make folder " + folder.string() + ": " + error.message());
  if (resume) read(setting);
  fd_ = vfio::UniqueFd(::open(
      file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0644));
  if (!fd_) throw_errno("open " + file_.string());
  if (!resume) append(setting);
}

void Journal::read(const ordered_json& setting) {
  const auto text = vfio::read_text(file_);
  if (!text || text->empty())
    throw UsageError("--resume: no journal " + file_.string() +
                     "; allowed: the folder of a run that ended early");
  std::istringstream lines(*text);
  std::size_t whole = 0;
  bool first = true;
  for (std::string line; std::getline(lines, line) && !lines.eof(); first = false) {
    const ordered_json json = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) break;
    if (first && json != setting)
      throw UsageError("--resume: " + file_.string() +
                       " was made with another setting: " + first_difference(json, setting));
    if (!first) kept_[{json.at("name"), json.at("block")}] = from_json(json.at("measurement"));
    whole += line.size() + 1;
  }
  if (first) throw UsageError("--resume: " + file_.string() + " has no whole first line");
  if (whole < text->size() && ::truncate(file_.c_str(), static_cast<off_t>(whole)) != 0)
    throw_errno("cut " + file_.string());
}

void Journal::append(const ordered_json& line) const {
  const std::string text = line.dump() + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd_.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("write " + file_.string());
    done += static_cast<std::size_t>(n);
  }
  if (::fdatasync(fd_.get()) != 0) throw_errno("fdatasync " + file_.string());
}

const Measurement* Journal::find(const std::string& name, std::uint32_t block) const {
  const auto found = kept_.find({name, block});
  return found == kept_.end() ? nullptr : &found->second;
}

void Journal::add(const std::string& name, std::uint32_t block, const Measurement& measurement) {
  append({{"name", name}, {"block", block}, {"measurement", to_json(measurement)}});
}

void Journal::remove() noexcept {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace pagemix::bench
