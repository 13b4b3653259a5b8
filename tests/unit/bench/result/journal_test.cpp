// SPDX-License-Identifier: Apache-2.0
// What a run that ended early has measured is taken over, or refused by name.
#include "result/journal.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using nlohmann::ordered_json;

const ordered_json kSetting = {{"kernel", "6.12"}, {"config", {{"run.blocks", "2"}}}};

Measurement measurement() {
  return {.samples = {1, 2.5},
          .counters = {{"zero_per_page", 600.25}},
          .entries = {{"/allocation:1", {{"chunks_order8", 10.0}}}, {"/allocation:2", {}}},
          .arrays = {{"free_blocks_before", {1, 2, 3}}},
          .skipped = {{"attribution", "no \"tracing\""}}};
}

void write_two(const std::filesystem::path& folder) {
  Journal journal(folder, kSetting, false);
  journal.add("a/b:c", 0, measurement());
  journal.add("a/b:c", 1, {{7}, {}});
}

TEST(Journal, GivesBackWhatWasAdded) {
  const test::TemporaryFolder folder;
  write_two(folder.path());
  const Journal journal(folder.path(), kSetting, true);
  EXPECT_EQ(journal.taken_over(), 2u);
  EXPECT_EQ(journal.find("a/b:c", 2), nullptr);
  EXPECT_EQ(journal.find("a/b", 0), nullptr);
  ASSERT_NE(journal.find("a/b:c", 1), nullptr);
  EXPECT_EQ(journal.find("a/b:c", 1)->samples, (std::vector<double>{7}));
  const Measurement& kept = *journal.find("a/b:c", 0);
  const Measurement wanted = measurement();
  EXPECT_EQ(kept.samples, wanted.samples);
  EXPECT_EQ(kept.counters, wanted.counters);
  ASSERT_EQ(kept.entries.size(), 2u);
  EXPECT_EQ(kept.entries[0].suffix, "/allocation:1");
  EXPECT_EQ(kept.entries[0].counters, wanted.entries[0].counters);
  EXPECT_EQ(kept.arrays, wanted.arrays);
  ASSERT_EQ(kept.skipped.size(), 1u);
  EXPECT_EQ(kept.skipped[0].why, wanted.skipped[0].why);
}

TEST(Journal, GoesOnBehindALastLineThatIsCut) {
  const test::TemporaryFolder folder;
  write_two(folder.path());
  const auto file = Journal::file_in(folder.path());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  {
    Journal journal(folder.path(), kSetting, true);
    EXPECT_EQ(journal.taken_over(), 1u);
    journal.add("a/b:c", 1, {{8}, {}});
  }
  const Journal again(folder.path(), kSetting, true);
  EXPECT_EQ(again.taken_over(), 2u);
  EXPECT_EQ(again.find("a/b:c", 1)->samples, (std::vector<double>{8}));
}

TEST(Journal, OfAnotherSettingIsRefusedByWhatDiffers) {
  const test::TemporaryFolder folder;
  write_two(folder.path());
  ordered_json other = kSetting;
  other["config"]["run.blocks"] = "3";
  const std::string message =
      test::message_of<UsageError>([&] { Journal(folder.path(), other, true); });
  EXPECT_NE(message.find("config/run.blocks: \"2\" then, \"3\" now"), std::string::npos) << message;
  EXPECT_EQ(Journal(folder.path(), kSetting, true).taken_over(), 2u) << "nothing was lost";
}

TEST(Journal, ThatIsMissingOrHasNoWholeLineIsRefused) {
  const test::TemporaryFolder folder;
  EXPECT_NE(test::message_of<UsageError>([&] {
              Journal(folder.path(), kSetting, true);
            }).find("no journal " + Journal::file_in(folder.path()).string()),
            std::string::npos);
  folder.write("journal.jsonl", "{\"kernel\": ");
  EXPECT_NE(test::message_of<UsageError>([&] {
              Journal(folder.path(), kSetting, true);
            }).find("no whole first line"),
            std::string::npos);
}

TEST(Journal, WithoutResumeAnOldOneIsReplacedAndARemovedOneIsGone) {
  const test::TemporaryFolder folder;
  write_two(folder.path());
  Journal journal(folder.path(), kSetting, false);
  EXPECT_EQ(journal.find("a/b:c", 0), nullptr);
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(Journal::file_in(folder.path())));
}

}  // namespace
}  // namespace pagemix::bench
