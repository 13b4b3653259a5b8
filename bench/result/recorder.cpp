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
namespace {

// What measures is this program; Google Benchmark's own build has no part in it.
#ifdef NDEBUG
constexpr const char* kBuildType = "release";
#else
constexpr const char* kBuildType = "debug";
#endif

}  // namespace

void initialize_benchmark(const std::vector<std::string>& flags) {
  static std::vector<std::string> arguments;  // the library keeps a pointer to the first
  arguments = {"pagemix"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
}

void Recorder::add(const std::string& name, std::size_t index, std::uint32_t block,
                   const Measurement& measurement) {
  const std::span samples(measurement.samples);
  Series& series = series_[name];
  series.samples.insert(series.samples.end(), samples.begin(), samples.end());
  series.counters = measurement.counters;
  for (const auto& [key, values] : measurement.arrays) {
    auto& array = series.arrays[key];
    array.insert(array.end(), values.begin(), values.end());
  }
  for (const Skipped& item : measurement.skipped) skip(item.what, item.why);
  if (measurement.entries.empty())
    runs_.push_back(make_run(name, index, block, samples, measurement.counters));
  for (std::size_t i = 0; i < measurement.entries.size(); ++i) {
    const auto& [suffix, own] = measurement.entries[i];
    series_[name + suffix].samples.push_back(measurement.samples.at(i));
    for (const auto& [key, value] : own)  // the table shows their mean
      series.counters[key] += value / static_cast<double>(measurement.entries.size());
    auto counters = measurement.counters;
    counters.insert(own.begin(), own.end());
    runs_.push_back(make_run(name + suffix, index, block, samples.subspan(i, 1), counters));
  }
}

void Recorder::skip(std::string what, std::string why) {
  if (std::ranges::find(skipped_, what, &Skipped::what) != skipped_.end()) return;
  skipped_.push_back({std::move(what), std::move(why)});
}

Recorder::Run Recorder::make_run(const std::string& name, std::size_t index, std::uint32_t block,
                                 std::span<const double> samples,
                                 const std::map<std::string, double>& counters) const {
  Run run;
  run.run_name.function_name = name;
  run.family_index = static_cast<std::int64_t>(index);
  run.per_family_instance_index = 0;
  run.repetition_index = block;
  run.repetitions = blocks_;
  run.report_label = "clock:" + to_string(clock_);
  run.time_unit = benchmark::kNanosecond;
  run.iterations = static_cast<benchmark::IterationCount>(samples.size());
  run.real_accumulated_time = std::accumulate(samples.begin(), samples.end(), 0.0) * 1e-9;
  // There is one clock: what it says is also what the CPU did.
  run.cpu_accumulated_time = run.real_accumulated_time;
  run.statistics = nullptr;
  for (const auto& [key, value] : counters) run.counters[key] = value;
  const Summary summary = summarize(samples);
  run.counters["median"] = summary.median;
  run.counters["p90"] = summary.p90;
  run.counters["p99"] = summary.p99;
  run.counters["max"] = summary.max;
  return run;
}

nlohmann::ordered_json Recorder::json(nlohmann::ordered_json pagemix) const {
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&text);
  reporter.ReportContext({});
  if (!runs_.empty()) reporter.ReportRuns(runs_);
  reporter.Finalize();
  auto document = nlohmann::ordered_json::parse(text.str());
  document["context"]["library_build_type"] = kBuildType;
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
