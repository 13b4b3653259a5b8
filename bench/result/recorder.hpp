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
  std::vector<Skipped> skipped{};                       ///< parts that could not be measured
};

/// All samples of a benchmark name and the counters of its last block.
struct Series {
  std::vector<double> samples;  ///< blocks in the order they ran
  std::map<std::string, double> counters;
  std::map<std::string, std::vector<double>> arrays{};  ///< by key, blocks in the order they ran

  friend bool operator==(const Series&, const Series&) = default;
};

/// Gives Google Benchmark its flags ("--benchmark_context=board=a"), which add to
/// the context. Once in a process.
void initialize_benchmark(const std::vector<std::string>& flags);

/// Joins the blocks of a benchmark under one name, with the block as
/// repetition_index, and makes Google Benchmark's runs of them.
class Recorder {
 public:
  Recorder(ClockKind clock, std::uint32_t blocks) : clock_(clock), blocks_(blocks) {}

  /// What benchmark @p name, number @p index of the run, measured in a block.
  void add(const std::string& name, std::size_t index, std::uint32_t block,
           const Measurement& measurement);
  /// Something that does not run, or did not end well; kept once for each @p what.
  void skip(std::string what, std::string why);

  const std::map<std::string, Series>& series() const { return series_; }
  const std::vector<Skipped>& skipped() const { return skipped_; }

  /// run.json: what Google Benchmark's JSON reporter makes of the runs, with
  /// @p pagemix as context.pagemix, to which this adds "skipped".
  nlohmann::ordered_json json(nlohmann::ordered_json pagemix) const;
  /// Writes samples.npz and run.json into @p folder (made when missing), each
  /// whole or not at all. RunError names the file.
  void write(const std::filesystem::path& folder, nlohmann::ordered_json pagemix) const;

 private:
  using Run = benchmark::BenchmarkReporter::Run;
  Run make_run(const std::string& name, std::size_t index, std::uint32_t block,
               std::span<const double> samples,
               const std::map<std::string, double>& counters) const;

  ClockKind clock_;
  std::uint32_t blocks_;
  std::map<std::string, Series> series_;
  std::vector<Run> runs_;
  std::vector<Skipped> skipped_;
};

/// Writes @p text to @p file by way of a temporary file beside it, so that
/// nobody ever reads half of it.
void write_atomically(const std::filesystem::path& file, const std::string& text);

}  // namespace pagemix::bench
