// SPDX-License-Identifier: Apache-2.0
// Keeps what was measured and writes the result folder (docs/result-format.md).
#pragma once

#include <benchmark/benchmark.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "machine/clock.hpp"

namespace pagemix::bench {

/// Something that was asked for and not measured.
struct Skipped {
  std::string what;  ///< family or benchmark name
  std::string why;
};

/// One sample that is an entry of its own in run.json.
struct SampleEntry {
  std::string suffix;                      ///< of the benchmark's name: "/allocation:1"
  std::map<std::string, double> counters;  ///< of this sample
};

/// What a family measured in one block.
struct Measurement {
  std::vector<double> samples;             ///< in clock units
  std::map<std::string, double> counters;  ///< docs/result-format.md
  /// Empty, or one a sample: then run.json has an entry each, which also gets
  /// the counters above, and samples.npz an array each.
  std::vector<SampleEntry> entries{};
  std::map<std::string, std::vector<double>> arrays{};  ///< further "<name>#<key>" of samples.npz
  std::string text{};                                   ///< for series.txt
  std::vector<Skipped> skipped{};                       ///< parts that could not be measured
};

/// All samples of a benchmark name and the counters of its last block.
struct Series {
  std::vector<double> samples;  ///< blocks in the order they ran
  std::map<std::string, double> counters;
  std::map<std::string, std::vector<double>> arrays{};  ///< by key, blocks in the order they ran
};

/// Google Benchmark's reporter for a run. Benchmarks are registered once a
/// block; this joins them under one name, with the block as repetition_index.
class Recorder final : public benchmark::BenchmarkReporter {
 public:
  Recorder(ClockKind clock, std::uint32_t blocks) : clock_(clock), blocks_(blocks) {}

  /// Names the benchmark that runs next; called by the benchmark itself.
  void starts(const std::string& name, std::size_t index, std::uint32_t block);
  /// Its samples; called before ReportRuns() of the same benchmark.
  void measured(const Measurement& measurement);
  /// Something that does not run, or did not end well; kept once for each @p what.
  void skip(std::string what, std::string why);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  const std::map<std::string, Series>& series() const { return series_; }
  const std::vector<Skipped>& skipped() const { return skipped_; }

  /// run.json: Google Benchmark's own JSON with @p pagemix as context.pagemix,
  /// to which this adds "skipped".
  nlohmann::ordered_json json(nlohmann::ordered_json pagemix) const;
  /// Writes samples.npz and run.json into @p folder (made when missing), each
  /// whole or not at all. RunError names the file.
  void write(const std::filesystem::path& folder, nlohmann::ordered_json pagemix) const;

 private:
  void add_run(Run run, const std::string& suffix, std::span<const double> samples,
               const std::map<std::string, double>& counters);

  ClockKind clock_;
  std::uint32_t blocks_;
  std::string name_;
  std::size_t index_ = 0;
  std::uint32_t block_ = 0;
  Measurement current_;  ///< of the benchmark that reports next
  std::map<std::string, Series> series_;
  std::vector<Run> runs_;
  std::string text_;
  std::vector<Skipped> skipped_;
};

/// Writes @p text to @p file by way of a temporary file beside it, so that
/// nobody ever reads half of it.
void write_atomically(const std::filesystem::path& file, const std::string& text);

}  // namespace pagemix::bench
