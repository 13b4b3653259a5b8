// SPDX-License-Identifier: Apache-2.0
#include "result/recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/error.hpp"
#include "pagemix/vfio/files.hpp"
#include "result/npz.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {

void Recorder::starts(const std::string& name, std::size_t index, std::uint32_t block) {
  name_ = name;
  index_ = index;
  block_ = block;
}

void Recorder::measured(const Measurement& measurement) {
  Series& series = series_[name_];
  series.samples.insert(series.samples.end(), measurement.samples.begin(),
                        measurement.samples.end());
  series.counters = measurement.counters;
  for (const auto& [key, values] : measurement.arrays) {
    auto& array = series.arrays[key];
    array.insert(array.end(), values.begin(), values.end());
  }
  for (std::size_t i = 0; i < measurement.entries.size(); ++i)
    series_[name_ + measurement.entries[i].suffix].samples.push_back(measurement.samples.at(i));
  for (const SampleEntry& entry : measurement.entries)
    for (const auto& [key, value] : entry.counters)  // the table shows their mean
      series.counters[key] += value / static_cast<double>(measurement.entries.size());
  for (const Skipped& item : measurement.skipped) skip(item.what, item.why);
  text_ += measurement.text;
  current_ = measurement;
}

void Recorder::skip(std::string what, std::string why) {
  if (std::ranges::find(skipped_, what, &Skipped::what) != skipped_.end()) return;
  skipped_.push_back({std::move(what), std::move(why)});
}

bool Recorder::ReportContext(const Context&) { return true; }

void Recorder::ReportRuns(const std::vector<Run>& runs) {
  for (Run run : runs) {
    if (run.error_occurred) continue;  // skip() has the reason
    if (current_.entries.empty()) add_run(run, {}, current_.samples, current_.counters);
    for (std::size_t i = 0; i < current_.entries.size(); ++i) {
      auto counters = current_.counters;
      counters.insert(current_.entries[i].counters.begin(), current_.entries[i].counters.end());
      add_run(run, current_.entries[i].suffix, std::span(current_.samples).subspan(i, 1), counters);
    }
  }
  current_ = {};
}

void Recorder::add_run(Run run, const std::string& suffix, std::span<const double> samples,
                       const std::map<std::string, double>& counters) {
  // The name that was registered ends with /iterations:<n>/manual_time.
  run.run_name = {};
  run.run_name.function_name = name_ + suffix;
  run.family_index = static_cast<std::int64_t>(index_);
  run.per_family_instance_index = 0;
  run.repetition_index = block_;
  run.repetitions = blocks_;
  run.report_label = "clock:" + to_string(clock_);
  run.iterations = static_cast<benchmark::IterationCount>(samples.size());
  run.real_accumulated_time = std::accumulate(samples.begin(), samples.end(), 0.0) * 1e-9;
  for (const auto& [key, value] : counters) run.counters[key] = value;
  const Summary summary = summarize(samples);
  run.counters["median"] = summary.median;
  run.counters["p90"] = summary.p90;
  run.counters["p99"] = summary.p99;
  run.counters["max"] = summary.max;
  runs_.push_back(std::move(run));
}

nlohmann::ordered_json Recorder::json(nlohmann::ordered_json pagemix) const {
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&text);
  reporter.ReportContext(Context());
  if (!runs_.empty()) reporter.ReportRuns(runs_);
  reporter.Finalize();
  auto document = nlohmann::ordered_json::parse(text.str());
  pagemix["skipped"] = nlohmann::ordered_json::array();
  for (const Skipped& item : skipped_)
    pagemix["skipped"].push_back({{"what", item.what}, {"why", item.why}});
  document["context"]["pagemix"] = std::move(pagemix);
  return document;
}

void Recorder::write(const std::filesystem::path& folder, nlohmann::ordered_json pagemix) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RunError("make folder " + folder.string() + ": " + error.message());
  std::map<std::string, std::vector<double>> arrays;
  for (const auto& [name, series] : series_) {
    arrays[name] = series.samples;
    for (const auto& [key, values] : series.arrays) arrays[name + "#" + key] = values;
  }
  const auto npz = folder / "samples.npz";
  const auto temporary = folder / "samples.npz.tmp";
  write_npz(temporary, arrays);
  std::filesystem::rename(temporary, npz, error);
  if (error) throw RunError("rename " + temporary.string() + ": " + error.message());
  if (!text_.empty()) write_atomically(folder / "series.txt", text_);
  // Last: a folder with run.json is whole.
  write_atomically(folder / "run.json", json(std::move(pagemix)).dump(2) + "\n");
}

void write_atomically(const std::filesystem::path& file, const std::string& text) {
  const std::string temporary = file.string() + ".tmp";
  const vfio::UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw_errno("open " + temporary);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("write " + temporary);
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd.get()) != 0) throw_errno("fsync " + temporary);
  if (::rename(temporary.c_str(), file.c_str()) != 0)
    throw_errno("rename " + temporary + " to " + file.string());
}

}  // namespace pagemix::bench
