// SPDX-License-Identifier: Apache-2.0
// What a run does with a case that fails: tells it and goes on, or stops.
#include "run/case_runner.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "pagemix/vfio/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

constexpr std::uint32_t kBlocks = 3;

// Measures the mix "good"; fails with the mix "bad" as it is told.
class FakeFamily final : public Family {
 public:
  explicit FakeFamily(std::function<void()> fail) : fail_(std::move(fail)) {}
  std::optional<std::string> prepare() override { return std::nullopt; }
  Measurement measure(const Case& item, std::uint32_t block) override {
    ++calls;
    if (item.mix() == "bad") fail_();
    return {.samples = {100.0 + block}, .counters = {{"runs", 1.0}}};
  }
  int calls = 0;

 private:
  std::function<void()> fail_;
};

class CaseRunnerTest : public testing::Test {
 protected:
  Ending run(std::function<void()> fail, const std::vector<std::string>& mixes,
             const std::string& device = "0000:00:02.0") {
    cases_.clear();
    for (const std::string& mix : mixes)
      cases_.push_back({.family = "map", .parts = {{"mix", mix}, {"layout", "buddy"}}});
    auto family = std::make_unique<FakeFamily>(std::move(fail));
    family_ = family.get();
    families_["map"] = std::move(family);
    Progress progress(cases_.size(), kBlocks, true);
    CaseRunner runner(cases_, families_, journal_, recorder_, progress,
                      [device](const Case&) { return device; });
    testing::internal::CaptureStderr();
    const Ending ending = runner.run(1, kBlocks);
    told_ = testing::internal::GetCapturedStderr();
    return ending;
  }

  std::size_t entries() const { return recorder_.json({})["benchmarks"].size(); }
  std::size_t journal_lines() const {
    const std::string text = test::read_file(Journal::file_in(folder_.path()));
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) - 1;
  }

  test::TemporaryFolder folder_;
  std::vector<Case> cases_;
  CaseRunner::Families families_;
  FakeFamily* family_ = nullptr;
  Journal journal_{folder_.path(), {{"setting", 1}}, false};
  Recorder recorder_{ClockKind::kInstructions, kBlocks};
  std::string told_;
};

TEST_F(CaseRunnerTest, AFailedCaseIsSkippedWithItsReasonAndTheOthersStay) {
  const Ending ending = run([] { throw_errno("allocate for it", ENOMEM); }, {"good", "bad"});
  EXPECT_TRUE(ending.failed);
  EXPECT_TRUE(ending.complete());
  ASSERT_EQ(recorder_.skipped().size(), 1u) << "told once";
  EXPECT_EQ(recorder_.skipped()[0].what, cases_[1].name());
  EXPECT_EQ(recorder_.skipped()[0].why, "allocate for it: ENOMEM: Cannot allocate memory");
  EXPECT_EQ(entries(), kBlocks);
  EXPECT_EQ(recorder_.series().at(cases_[0].name()).samples, (std::vector<double>{100, 101, 102}));
  EXPECT_EQ(journal_lines(), kBlocks);
}

TEST_F(CaseRunnerTest, ADeviceThatHasGoneStopsTheRunAtOnce) {
  const Ending ending = run([] { throw_errno("run it", ENODEV); }, {"bad", "bad", "bad"});
  EXPECT_EQ(family_->calls, 1);
  EXPECT_FALSE(ending.complete());
  EXPECT_TRUE(ending.failed);
  EXPECT_EQ(ending.stopped,
            "device 0000:00:02.0 has gone: it was unbound or removed during the run");
}

TEST_F(CaseRunnerTest, SoDoesOneThatTheLibraryMisses) {
  const Ending ending = run([] { throw vfio::Error(ENODEV, "map 4096 bytes"); }, {"bad", "bad"});
  EXPECT_EQ(family_->calls, 1);
  EXPECT_FALSE(ending.complete());
}

TEST_F(CaseRunnerTest, WhereNoDeviceIsNeededNoneHasGone) {
  const Ending ending = run([] { throw_errno("run it", ENODEV); }, {"bad", "good"}, "");
  EXPECT_EQ(family_->calls, 2 * static_cast<int>(kBlocks));
  EXPECT_TRUE(ending.complete());
}

TEST_F(CaseRunnerTest, AJournalThatCannotBeWrittenStopsTheRunAtOnce) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const auto bytes = std::filesystem::file_size(Journal::file_in(folder_.path()));
  const rlimit full{bytes, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const Ending ending = run([] {}, {"good", "good"});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(family_->calls, 1);
  EXPECT_FALSE(ending.complete());
  EXPECT_EQ(ending.stopped,
            "write " + Journal::file_in(folder_.path()).string() + ": EFBIG: File too large");
  EXPECT_EQ(entries(), 1u) << "what was measured is kept";
}

TEST_F(CaseRunnerTest, WhatTheJournalHasIsNotMeasuredAgain) {
  run([] {}, {"good"});
  Journal again(folder_.path(), {{"setting", 1}}, true);
  Recorder recorder(ClockKind::kInstructions, kBlocks);
  Progress progress(1, kBlocks, true);
  CaseRunner runner(cases_, families_, again, recorder, progress, [](const Case&) {
    ADD_FAILURE() << "nothing is bound for it";
    return std::string();
  });
  testing::internal::CaptureStderr();
  EXPECT_TRUE(runner.run(1, kBlocks).complete());
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(family_->calls, static_cast<int>(kBlocks));
  EXPECT_EQ(recorder.series(), recorder_.series());
}

TEST_F(CaseRunnerTest, ACaseThatWasGivenUpInterrupts) {
  const Ending ending = run([] { throw GivenUp{}; }, {"bad", "bad"});
  EXPECT_TRUE(ending.interrupted);
  EXPECT_EQ(family_->calls, 1);
  EXPECT_TRUE(recorder_.skipped().empty());
}

}  // namespace
}  // namespace pagemix::bench
