// SPDX-License-Identifier: Apache-2.0
#include "result/folder.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "result/journal.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

TEST(ResultFolder, SaysDayMachineAndProfile) {
  const std::string folder = result_folder("2026-12-03T14:00:00Z", "my board", "quick").string();
  EXPECT_TRUE(folder.starts_with("results/2026-12-03-my_board-")) << folder;
  EXPECT_TRUE(folder.ends_with("-quick")) << folder;
}

TEST(ResultFolder, IsNotNamedByAClockThatNobodyHasSet) {
  for (const char* now : {"1970-01-01T00:00:09Z", "2000-01-01T00:00:00Z"}) {
    const std::string message =
        test::message_of<UsageError>([now] { result_folder(now, "board", "quick"); });
    EXPECT_NE(message.find(std::string(now).substr(0, 10)), std::string::npos) << message;
    EXPECT_NE(message.find("--out DIR"), std::string::npos) << message;
  }
}

TEST(ResultFolder, AResultIsNotReplacedUnasked) {
  const test::TemporaryFolder folder;
  EXPECT_NO_THROW(require_free(folder.path()));
  folder.write("run.json", "{}");
  EXPECT_NE(test::message_of<UsageError>([&] { require_free(folder.path()); }).find("--force"),
            std::string::npos);
  folder.write("journal.jsonl", "");
  EXPECT_NE(test::message_of<UsageError>([&] { require_free(folder.path()); }).find("--resume"),
            std::string::npos);
}

}  // namespace
}  // namespace pagemix::bench
