// SPDX-License-Identifier: Apache-2.0
// run.json: blocks joined under one name, readable by Google Benchmark's own
// compare tool, written whole or not at all.
#include "result/recorder.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "result/npz.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

constexpr const char* kFirst = "map_sgtable/mix:order0/layout:scattered/bytes:10485760";
constexpr const char* kSecond = "map_sgtable/mix:order4/layout:scattered/bytes:10485760";

// Two blocks of two benchmarks, and one that fails.
class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    recorder_.add(kFirst, 0, 0, measured({100, 200, 300}));
    recorder_.add(kSecond, 1, 0, measured({10, 10, 10}));
    recorder_.add(kSecond, 1, 1, measured({10, 10, 40}));
    recorder_.add(kFirst, 0, 1, measured({300, 300, 600}));
    recorder_.skip("broken", "no memory");
  }

  static Measurement measured(std::vector<double> samples) {
    return {std::move(samples), {{"runs", 2557.0}}};
  }

  Recorder recorder_{ClockKind::kInstructions, 2};
};

TEST_F(RecorderTest, BlocksShareAName) {
  const auto json = recorder_.json({{"schema", 1}});
  ASSERT_EQ(json["benchmarks"].size(), 4u);
  const auto& entry = json["benchmarks"][3];
  EXPECT_EQ(entry["name"], kFirst);
  EXPECT_EQ(entry["run_name"], kFirst);
  EXPECT_EQ(entry["run_type"], "iteration");
  EXPECT_EQ(entry["repetition_index"], 1);
  EXPECT_EQ(entry["repetitions"], 2);
  EXPECT_EQ(entry["family_index"], 0);
  EXPECT_EQ(entry["iterations"], 3);
  EXPECT_EQ(entry["threads"], 1);
  EXPECT_NEAR(entry["real_time"].get<double>(), 400, 1e-6);
  EXPECT_EQ(entry["cpu_time"], entry["real_time"]) << "there is one clock";
  EXPECT_EQ(entry["time_unit"], "ns");
  EXPECT_EQ(entry["label"], "clock:instructions");
  EXPECT_EQ(entry["runs"], 2557);
}

TEST_F(RecorderTest, TheBuildTypeIsTheProgramsAndNotTheLibrarys) {
#ifdef NDEBUG
  EXPECT_EQ(recorder_.json({})["context"]["library_build_type"], "release");
#else
  EXPECT_EQ(recorder_.json({})["context"]["library_build_type"], "debug");
#endif
}

TEST_F(RecorderTest, WhatFailedIsInTheContextAndNotAmongTheResults) {
  const auto json = recorder_.json({{"schema", 1}});
  EXPECT_EQ(json["context"]["pagemix"]["schema"], 1);
  EXPECT_EQ(json["context"]["pagemix"]["skipped"].dump(),
            R"([{"what":"broken","why":"no memory"}])");
  for (const auto& entry : json["benchmarks"]) EXPECT_NE(entry["name"], "broken");
}

TEST_F(RecorderTest, SamplesOfAllBlocksAreKeptInOrder) {
  EXPECT_EQ(recorder_.series().at(kFirst).samples,
            (std::vector<double>{100, 200, 300, 300, 300, 600}));
}

TEST_F(RecorderTest, GoogleBenchmarksCompareToolReadsIt) {
  const test::TemporaryFolder folder;
  recorder_.write(folder.path(), {{"schema", 1}, {"complete", true}});
  const std::string run = (folder.path() / "run.json").string();
  const auto result = test::run_command_line(
      "/usr/bin/python3 -B /usr/share/benchmark/compare.py "
      "--no-color benchmarks " +
      run + " " + run);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find(kFirst), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(std::string(kSecond) + "_pvalue"), std::string::npos)
      << "blocks are not seen as repetitions: " << result.output;
}

TEST_F(RecorderTest, NothingTemporaryIsLeft) {
  const test::TemporaryFolder folder;
  recorder_.write(folder.path() / "a/b", {{"schema", 1}});
  recorder_.write(folder.path() / "a/b", {{"schema", 1}});  // replaces
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "a/b"))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"run.json", "samples.npz"}));
}

// Two blocks of a benchmark whose samples are entries of their own.
class RecorderEntriesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t block = 0; block < 2; ++block)
      recorder_.add("series", 7, block, measurement(block));
  }

  static Measurement measurement(std::uint32_t block) {
    const double base = 1000.0 * (block + 1);
    return {.samples = {base, base + 1},
            .counters = {{"common", 3.0}},
            .entries = {{"/allocation:1", {{"chunks_order8", 10.0}}},
                        {"/allocation:2", {{"chunks_order4", 160.0}}}},
            .arrays = {{"free_blocks_before", {base, 0}}},
            .skipped = {{"attribution", "no tracing"}}};
  }

  Recorder recorder_{ClockKind::kInstructions, 2};
};

TEST_F(RecorderEntriesTest, EachSampleIsAnEntryWithItsCountersAndTheCommonOnes) {
  const auto json = recorder_.json({{"schema", 1}});
  ASSERT_EQ(json["benchmarks"].size(), 4u);
  const auto& entry = json["benchmarks"][3];
  EXPECT_EQ(entry["name"], "series/allocation:2");
  EXPECT_EQ(entry["repetition_index"], 1);
  EXPECT_EQ(entry["iterations"], 1);
  EXPECT_NEAR(entry["real_time"].get<double>(), 2001, 1e-6);
  EXPECT_EQ(entry["median"], 2001);
  EXPECT_EQ(entry["common"], 3);
  EXPECT_EQ(entry["chunks_order4"], 160);
  EXPECT_FALSE(entry.contains("chunks_order8"));
  EXPECT_EQ(json["context"]["pagemix"]["skipped"].size(), 1u) << "told once";
}

TEST_F(RecorderEntriesTest, ArraysAreKeptByEntryAndBySeries) {
  const test::TemporaryFolder folder;
  recorder_.write(folder.path(), {{"schema", 1}});
  const auto& all = recorder_.series();
  EXPECT_EQ(all.at("series").samples, (std::vector<double>{1000, 1001, 2000, 2001}));
  EXPECT_EQ(all.at("series/allocation:2").samples, (std::vector<double>{1001, 2001}));
  EXPECT_EQ(all.at("series").arrays.at("free_blocks_before"),
            (std::vector<double>{1000, 0, 2000, 0}));
  EXPECT_EQ(all.at("series").counters.at("chunks_order8"), 5) << "mean of the last set";
}

TEST(Recorder, ARunThatMeasuredNothingIsValid) {
  const Recorder recorder(ClockKind::kHardwareNs, 2);
  const test::TemporaryFolder folder;
  recorder.write(folder.path(), {{"complete", false}});
  const auto json = nlohmann::json::parse(test::read_file(folder.path() / "run.json"));
  EXPECT_TRUE(json["benchmarks"].is_array());
  EXPECT_TRUE(json["benchmarks"].empty());
  EXPECT_EQ(json["context"]["pagemix"]["complete"], false);
}

TEST(Recorder, AFileThatCannotBeWrittenIsNamed) {
  const std::string message =
      test::message_of<RunError>([] { write_atomically("/no/such/run.json", "{}"); });
  EXPECT_EQ(message, "open /no/such/run.json.tmp: ENOENT: No such file or directory");
}

}  // namespace
}  // namespace pagemix::bench
