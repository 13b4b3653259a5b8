// SPDX-License-Identifier: Apache-2.0
// Mixes: the shipped file, and every way to write one wrongly.
#include "plan/mixes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;

std::string fault(const std::string& text, unsigned max_order = kDefaultMaxOrder) {
  return message_of<UsageError>([&] { mixes_of(parse_ini(text, "m.ini"), max_order); });
}

TEST(Mixes, TheShippedFileHoldsTheMixesOfTheDesign) {
  std::map<std::string, std::string> found;
  for (const Mix& mix : load_mixes(CONFIGS_FOLDER "/mixes.ini", kDefaultMaxOrder))
    found[mix.name] = format_steps(mix);
  const std::map<std::string, std::string> expected = {
      {"order0", "0:low"},
      {"order4", "4:mid"},
      {"order8", "8:mid"},
      {"order9", "9:mid"},
      {"8-4-0", "8:high 4:high 0:low"},
      {"8-4-0-mid", "8:high 4:mid 0:low"},
      {"8-0-0", "8:high 0:low 0:low"},
      {"9-4-0", "9:high 4:high 0:low"},
      {"9-8-4-0", "9:high 8:high 4:high 0:low"},
      {"16k", "8:high 4:high 2:low"},  // this test runs on 4 KiB pages
      {"64k", "8:high 4:low"},
  };
  EXPECT_EQ(found, expected);
}

TEST(Mixes, StepsCarryOrderAndClass) {
  const auto steps = parse_steps("8:high 4:mid 0:low", "x", 10);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].order, 8u);
  EXPECT_EQ(steps[0].gfp, static_cast<unsigned>(PAGEMIX_GFP_HIGH));
  EXPECT_EQ(steps[1].gfp, static_cast<unsigned>(PAGEMIX_GFP_MID));
  EXPECT_EQ(steps[2].gfp, static_cast<unsigned>(PAGEMIX_GFP_LOW));
}

TEST(Mixes, ASizeIsTheOrderOfThatManyBytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string two_pages = std::to_string(2 * page / 1024) + "K";
  const auto steps = parse_steps("1M:high " + two_pages + ":high 1K:low", "x", 10);
  EXPECT_EQ(page << steps[0].order, 1u << 20);
  EXPECT_EQ(steps[1].order, 1u);
  EXPECT_EQ(steps[2].order, 0u) << "no order is smaller than a page";
  EXPECT_NE(fault("[a]\nsteps = 96K:low\n").find("\"96K\""), std::string::npos);
  EXPECT_NE(fault("[a]\nsteps = 1G:low\n").find("\"1G\""), std::string::npos);
}

TEST(Mixes, AnOrderAboveTheKernelsLimitNamesLineAndRange) {
  EXPECT_EQ(fault("[big]\n\nsteps = 11:low\n"),
            "m.ini:3: order \"11\" of step \"11:low\"; allowed: 0..10"
            ", or a power of two in bytes of at most that order, as 64K");
  EXPECT_EQ(fault("[big]\nsteps = 9:low\n", 8),
            "m.ini:2: order \"9\" of step \"9:low\"; allowed: 0..8"
            ", or a power of two in bytes of at most that order, as 64K");
  EXPECT_EQ(fault("[big]\nsteps = 64:low\n", 15),
            "m.ini:2: order \"64\" of step \"64:low\"; allowed: 0..15"
            ", or a power of two in bytes of at most that order, as 64K");
  EXPECT_EQ(fault("[big]\nsteps = -1:low\n"),
            "m.ini:2: order \"-1\" of step \"-1:low\"; allowed: 0..10"
            ", or a power of two in bytes of at most that order, as 64K");
}

TEST(Mixes, UnreadableStepsNameLineAndForm) {
  EXPECT_EQ(fault("[a]\nsteps = 8\n"),
            "m.ini:2: unreadable step \"8\"; allowed: ORDER:CLASS, as in 8:high");
  EXPECT_EQ(fault("[a]\nsteps = 8:middle\n"),
            "m.ini:2: unknown GFP class \"middle\" of step \"8:middle\"; allowed: low, mid, high");
  EXPECT_EQ(fault("[a]\nsteps = x:low\n"),
            "m.ini:2: order \"x\" of step \"x:low\"; allowed: 0..10"
            ", or a power of two in bytes of at most that order, as 64K");
  EXPECT_EQ(fault("[a]\nsteps =\n"), "m.ini:2: 0 steps; allowed: 1..8");
  EXPECT_EQ(fault("[a]\nsteps = 8:low 7:low 6:low 5:low 4:low 3:low 2:low 1:low 0:low\n"),
            "m.ini:2: 9 steps; allowed: 1..8");
  EXPECT_EQ(fault("[a]\nsteps = 4:high 8:low\n"),
            "m.ini:2: step \"8:low\" after order 4; allowed: orders never increase");
}

TEST(Mixes, KeysAndSectionsAreChecked) {
  EXPECT_EQ(fault("[a]\nsteps = 0:low\nsize = 3\n"),
            "m.ini:3: unknown key \"size\" of mix [a]; allowed: steps");
  EXPECT_EQ(fault("steps = 0:low\n"), "m.ini:1: key \"steps\" outside of a [mix] section");
  EXPECT_EQ(fault("[a]\n[b]\nsteps = 0:low\n"), "m.ini:1: mix [a] without the key steps");
  EXPECT_EQ(fault("[a/b]\nsteps = 0:low\n"),
            "m.ini:1: mix name \"a/b\"; allowed: no blank, comma, colon or slash");
}

TEST(Mixes, TheLastOrderDecidesWhatCanBeFilled) {
  const Ini ini = parse_ini("[a]\nsteps = 9:mid\n[b]\nsteps = 8:high 4:high 0:low\n", "m.ini");
  const std::vector<Mix> mixes = mixes_of(ini, 10);
  EXPECT_EQ(smallest_chunk(mixes.at(0), 4096), 2U << 20);
  EXPECT_EQ(smallest_chunk(mixes.at(0), 16384), 8U << 20);
  EXPECT_EQ(smallest_chunk(mixes.at(1), 4096), 4096U);
}

TEST(Mixes, AFileWithoutMixesIsRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("mixes.ini", "# nothing\n");
  EXPECT_EQ(message_of<UsageError>([&] { load_mixes(file, 10); }),
            file.string() + ": no mix; allowed: one [mix] section or more");
}

}  // namespace
}  // namespace pagemix::bench
