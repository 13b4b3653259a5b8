// SPDX-License-Identifier: Apache-2.0
// A setting comes back: at the end, and at the next start after a kill.
#include "machine/setting.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

class Settings : public testing::Test {
 protected:
  fs::path notes() const { return folder_.path() / "notes"; }
  std::string value() const { return test::read_file(file_); }
  bool noted() const { return fs::exists(notes()) && !fs::is_empty(notes()); }

  // A process that changes the setting and lives until it is killed.
  pid_t changed_by_another(const std::string& value) const {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      const Setting setting(file_, value, notes());
      if (write(ends[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char ready = 0;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return child;
  }
  static void kill_hard(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  test::TemporaryFolder folder_;
  std::string file_ = folder_.write("sys/vm/proactiveness", "20\n").string();
};

TEST_F(Settings, TheOldValueComesBackAtTheEnd) {
  {
    const Setting setting(file_, "0", notes());
    EXPECT_EQ(value()[0], '0');
    EXPECT_TRUE(noted());
  }
  EXPECT_EQ(value().substr(0, 2), "20");
  EXPECT_FALSE(noted());
}

TEST_F(Settings, AMissingSettingIsLeftAlone) {
  { const Setting setting((folder_.path() / "none").string(), "0", notes()); }
  EXPECT_FALSE(fs::exists(folder_.path() / "none"));
  EXPECT_FALSE(noted());
}

TEST_F(Settings, TheNextStartRestoresWhatAKilledProcessLeft) {
  kill_hard(changed_by_another("0"));
  EXPECT_EQ(value()[0], '0');
  EXPECT_EQ(
      restore_stale_settings(notes()),
      (std::vector<std::string>{"restored " + file_ + " to 20, left by a run that was killed"}));
  EXPECT_EQ(value().substr(0, 2), "20");
  EXPECT_FALSE(noted());
  EXPECT_TRUE(restore_stale_settings(notes()).empty());
}

TEST_F(Settings, AKilledProcessNotedTheValueThatCounts) {
  kill_hard(changed_by_another("0"));
  { const Setting setting(file_, "5", notes()); }
  EXPECT_EQ(value().substr(0, 2), "20");
}

TEST_F(Settings, WhatALivingProcessHoldsIsLeftAlone) {
  const pid_t child = changed_by_another("0");
  EXPECT_TRUE(restore_stale_settings(notes()).empty());
  EXPECT_EQ(value()[0], '0');
  EXPECT_NE(test::message_of<RunError>([&] {
              const Setting setting(file_, "5", notes());
            }).find("another pagemix"),
            std::string::npos);
  EXPECT_EQ(value()[0], '0');
  kill_hard(child);
}

TEST_F(Settings, WhatCannotBeRestoredIsToldAndTriedAgain) {
  kill_hard(changed_by_another("0"));
  fs::remove(file_);
  const auto lines = restore_stale_settings(notes());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("ENOENT"), std::string::npos) << lines[0];
  EXPECT_TRUE(noted());
}

TEST_F(Settings, WithoutNotesNothingHappens) {
  EXPECT_TRUE(restore_stale_settings(notes()).empty());
}

}  // namespace
}  // namespace pagemix::bench
