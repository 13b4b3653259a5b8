// SPDX-License-Identifier: Apache-2.0
// Profiles by name, and the mixes that go with them.
#include "plan/config_files.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

class ConfigFiles : public testing::Test {
 protected:
  // Two folders with configs; the first wins.
  std::vector<fs::path> folders() const { return {root_.path() / "own", root_.path() / "usr"}; }
  test::TemporaryFolder root_;
};

TEST_F(ConfigFiles, TheFirstFolderThatHasTheProfileWins) {
  const fs::path own = root_.write("own/profiles/quick.ini", "");
  root_.write("usr/profiles/quick.ini", "");
  const fs::path full = root_.write("usr/profiles/full.ini", "");
  EXPECT_EQ(find_profile("quick", folders()), own);
  EXPECT_EQ(find_profile("full", folders()), full);
  EXPECT_EQ(named_profiles(folders()), (std::vector<fs::path>{full, own}));
}

TEST_F(ConfigFiles, AnUnknownNameListsTheNamesAndTheFolders) {
  root_.write("usr/profiles/use.ini", "");
  root_.write("usr/profiles/notes.txt", "");
  root_.write("own/profiles/full.ini", "");
  const std::string own = (root_.path() / "own/profiles").string();
  const std::string usr = (root_.path() / "usr/profiles").string();
  EXPECT_EQ(test::message_of<UsageError>([&] { find_profile("qick", folders()); }),
            "--config: no profile \"qick\"; allowed: a file, or a name in " + own + ", " + usr +
                ": full, use");
  EXPECT_NE(test::message_of<UsageError>([&] {
              find_profile("qick", {root_.path() / "none"});
            }).find("there is none"),
            std::string::npos);
}

TEST_F(ConfigFiles, WhatLooksLikeAFileIsOneEvenIfItIsMissing) {
  root_.write("own/profiles/quick.ini", "");
  EXPECT_EQ(find_profile("quick.ini", folders()), "quick.ini");
  EXPECT_EQ(find_profile("./quick", folders()), "./quick");
}

TEST_F(ConfigFiles, MixesLieBesideTheProfileOrInTheFirstFolder) {
  const fs::path usr = root_.write("usr/mixes.ini", "");
  EXPECT_EQ(find_mixes_file({}, folders()), usr);
  const fs::path own = root_.write("own/mixes.ini", "");
  EXPECT_EQ(find_mixes_file({}, folders()), own);
  const fs::path beside = root_.write("mine/mixes.ini", "");
  const fs::path profile = root_.write("mine/profiles/quick.ini", "");
  EXPECT_EQ(find_mixes_file(profile, folders()), beside);
  EXPECT_NE(test::message_of<UsageError>([&] {
              find_mixes_file({}, {root_.path() / "none"});
            }).find("--mixes-file"),
            std::string::npos);
}

TEST_F(ConfigFiles, TheInstalledFolderIsFoundFromTheProgram) {
  const fs::path installed = config_folders().back();
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_TRUE(installed.is_absolute());
  EXPECT_EQ(installed, (program.parent_path() / "../share/pagemix/configs").lexically_normal());
}

}  // namespace
}  // namespace pagemix::bench
