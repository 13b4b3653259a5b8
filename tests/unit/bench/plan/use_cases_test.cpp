// SPDX-License-Identifier: Apache-2.0
// Names and keys of the families that use buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "plan/cases.hpp"
#include "plan/mixes.hpp"
#include "plan/profile.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;

Profile profile_of(const std::string& keys) {
  const std::vector<std::string> mixes = {"order0", "order9"};
  return make_profile(
      parse_ini("[run]\nmixes = order0 order9\nlayouts = scattered\n" + keys, "p.ini"), "p.ini", {},
      mixes);
}

std::vector<std::string> names_of(const std::string& keys) {
  std::vector<std::string> names;
  for (const Case& item : expand(profile_of(keys))) names.push_back(item.name());
  return names;
}

std::string rejected(const std::string& keys) {
  return message_of<UsageError>([&] { profile_of(keys); });
}

TEST(UseCases, WindowsAboveTheBufferAreLeftOut) {
  EXPECT_EQ(names_of("families = use_random\nbytes = 2M\nwindows = 16K 2M 4M\n"),
            (std::vector<std::string>{
                "use_random/mix:order0/layout:scattered/bytes:2097152/window:16384",
                "use_random/mix:order0/layout:scattered/bytes:2097152/window:2097152",
                "use_random/mix:order9/layout:scattered/bytes:2097152/window:16384",
                "use_random/mix:order9/layout:scattered/bytes:2097152/window:2097152"}));
}

TEST(UseCases, FramesDecideTheSizeOfTheirBuffers) {
  const auto names = names_of(
      "families = use_column use_pipeline\nbytes = 64K\n"
      "frames = 1920x1080-nv12 3840x2160-rgba\nmaps = each\n");
  ASSERT_EQ(names.size(), 6u);
  EXPECT_EQ(names[0], "use_column/mix:order0/layout:scattered/bytes:4194304/frame:1920x1080-nv12");
  EXPECT_EQ(names[2], "use_column/mix:order0/layout:scattered/bytes:33554432/frame:3840x2160-rgba");
  EXPECT_EQ(names[4],
            "use_pipeline/mix:order0/layout:scattered/bytes:12582912/"
            "frame:3840x2160-nv12/frames:8/map:each");
}

TEST(UseCases, AReducedReadIsInTheName) {
  EXPECT_TRUE(names_of("families = use_column\nframes = 64x64-nv12\ncolumns = 3\n")[0].ends_with(
      "/frame:64x64-nv12/columns:3"));
}

TEST(UseCases, OtherFamiliesHaveTheirParts) {
  const auto names =
      names_of("families = use_stream sync import\nbytes = 1M\ndepths = 1 32\nimporters = vgem\n");
  const std::set<std::string> all(names.begin(), names.end());
  EXPECT_EQ(all.size(), names.size());
  EXPECT_EQ(names.size(), 2u * (2 + 6 + 2));
  for (const char* name :
       {"use_stream/mix:order0/layout:scattered/bytes:1048576/depth:32",
        "sync/mix:order9/layout:scattered/bytes:1048576/op:end/direction:from_device",
        "import/mix:order0/layout:scattered/bytes:1048576/driver:vgem/op:release"})
    EXPECT_TRUE(all.contains(name)) << name;
}

TEST(UseCases, EachNeedsItsDevice) {
  const auto group = [](const char* family) { return Case{.family = family}.group(); };
  EXPECT_EQ(group("use_random"), Group::kDrive);
  EXPECT_EQ(group("use_pipeline"), Group::kDrive);
  EXPECT_EQ(group("sync"), Group::kModule);
  EXPECT_EQ(group("import"), Group::kBuffer);
}

TEST(UseCases, APipelineHasABufferForEachFrame) {
  for (const Case& item : expand(profile_of("families = use_pipeline use_stream\n")))
    EXPECT_EQ(item.buffers(), item.family == "use_pipeline" ? 8u : 1u);
}

// Working sets of use_random on the first buffer.
std::vector<std::uint64_t> windows_of(const Profile& profile) {
  std::vector<std::uint64_t> windows;
  std::string first;
  for (const Case& item : expand(profile)) {
    if (item.family != "use_random") continue;
    const std::string buffer = item.mix() + item.layout() + item.part("bytes");
    if (first.empty()) first = buffer;
    if (buffer == first) windows.push_back(item.number("window"));
  }
  return windows;
}

TEST(UseCases, TheShippedProfileIsRead) {
  std::vector<std::string> mixes;
  for (const Mix& mix : load_mixes(CONFIGS_FOLDER "/mixes.ini", kDefaultMaxOrder))
    mixes.push_back(mix.name);
  const Profile profile = load_profile(CONFIGS_FOLDER "/profiles/use.ini", {}, mixes);
  std::set<std::string> families;
  for (const Case& item : expand(profile)) families.insert(item.family);
  EXPECT_EQ(families, (std::set<std::string>{"use_stream", "use_random", "use_column",
                                             "use_pipeline", "sync", "import"}));
  EXPECT_TRUE(std::ranges::is_sorted(windows_of(profile)));
}

// The knee of 256 entries of 4 KiB is at 1 MiB: around it steps are finer than 2.
TEST(UseCases, WindowsOfTheShippedProfileAreFineAroundOneMebibyte) {
  const Profile profile = load_profile(
      CONFIGS_FOLDER "/profiles/use.ini", {},
      std::vector<std::string>{"order0", "order4", "order8", "order9", "8-4-0", "9-4-0"});
  const std::vector<std::uint64_t> windows = windows_of(profile);
  ASSERT_GT(windows.size(), 8u);
  for (std::size_t i = 1; i < windows.size(); ++i) {
    const auto low = static_cast<double>(windows[i - 1]);
    const auto high = static_cast<double>(windows[i]);
    if (low >= 512 * 1024 && high <= 2 * 1024 * 1024) {
      EXPECT_LT(high / low, 1.6) << low;
    }
  }
}

TEST(UseCases, BadValuesNameWhatIsAllowed) {
  EXPECT_EQ(rejected("depths = 0\n"), "p.ini:4: depths: number 0 out of range; allowed: 1..1024");
  EXPECT_EQ(rejected("depths = 1 1\n"),
            "p.ini:4: depths: \"1\" given twice; allowed: each value once");
  EXPECT_EQ(rejected("columns = 300\n"),
            "p.ini:4: columns: number 300 out of range; allowed: 0..256");
  EXPECT_EQ(rejected("maps = never\n"),
            "p.ini:4: maps: unknown value \"never\"; allowed: kept, each");
  EXPECT_NE(
      rejected("frames = 8x8-nv12\n").find("frames: unreadable frame \"8x8-nv12\"; allowed: "),
      std::string::npos);
  EXPECT_NE(rejected("pipeline_frame = 64x64-nv12 64x64-rgba\n").find("more than one value"),
            std::string::npos);
  EXPECT_NE(rejected("importers = a/b\n").find("importers: unreadable name \"a/b\""),
            std::string::npos);
  EXPECT_NE(rejected("windows = 6000\n").find("windows: size \"6000\" is no whole pages"),
            std::string::npos);
  EXPECT_EQ(rejected("accesses = 0\n"),
            "p.ini:4: accesses: number 0 out of range; allowed: 1..16777216");
}

}  // namespace
}  // namespace pagemix::bench
