// SPDX-License-Identifier: Apache-2.0
// The command line of `pagemix run`.
#include "program/cli.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "run/case_selection.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

std::string fault(const std::vector<std::string>& arguments) {
  return test::message_of<UsageError>([&] { parse_run(arguments); });
}

TEST(CommandLine, OptionsAndKeysAreRead) {
  const auto options = parse_run(
      {"--config=quick.ini", "--device", "0000:00:02.0", "--clock=instructions", "--iterations=3",
       "--bytes=1M 2M", "--force", "--benchmark_filter=order0", "--benchmark_context=site=lab"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->config, "quick.ini");
  EXPECT_EQ(options->device, "0000:00:02.0");
  EXPECT_EQ(options->clock, ClockKind::kInstructions);
  EXPECT_TRUE(options->force);
  EXPECT_EQ(options->filter, "order0");
  ASSERT_EQ(options->overrides.size(), 2u);
  EXPECT_EQ(options->overrides[0].key, "bytes");
  EXPECT_EQ(options->overrides[0].value, "1M 2M");
  EXPECT_EQ(options->contexts, (std::vector<std::string>{"--benchmark_context=site=lab"}));
  EXPECT_EQ(options->command.size(), 11u);
}

TEST(CommandLine, TheProfileMustBeNamed) {
  EXPECT_EQ(fault({}), "--config is missing; allowed: a profile such as quick (pagemix list)");
  EXPECT_NE(fault({"--config="}).find("--config"), std::string::npos);
}

TEST(CommandLine, UnknownOptionsPointToTheHelp) {
  for (const char* option : {"--confg=a", "--iter=3", "-x", "stray"}) {
    const std::string message = fault({"--config=a", option});
    EXPECT_NE(message.find("pagemix run --help"), std::string::npos) << message;
  }
}

TEST(CommandLine, FlagsThatWouldChangeTheRepetitionsAreRefused) {
  for (const char* flag :
       {"--benchmark_min_time=1", "--benchmark_repetitions=3", "--benchmark_min_warmup_time=1",
        "--benchmark_enable_random_interleaving=true"}) {
    const std::string message = fault({"--config=a", flag});
    EXPECT_NE(message.find("is refused"), std::string::npos) << message;
    EXPECT_NE(message.find("--iterations"), std::string::npos) << message;
  }
  EXPECT_NE(fault({"--config=a", "--benchmark_out=x"}).find("--out"), std::string::npos);
  EXPECT_NE(fault({"--config=a", "--benchmark_perf_counters=x"}).find("allowed:"),
            std::string::npos);
  EXPECT_NE(fault({"--config=a", "--benchmark_list_tests=maybe"}).find("true, false"),
            std::string::npos);
}

TEST(CommandLine, FiltersAreExtendedRegularExpressions) {
  const std::string name = "map_sgtable/mix:order4/layout:scattered/bytes:10485760";
  EXPECT_TRUE(matches_filter(".", name));
  EXPECT_TRUE(matches_filter("^map_.*(order4|order8)", name));
  EXPECT_TRUE(matches_filter("bytes:10485760$", name));
  EXPECT_FALSE(matches_filter("^unmap", name));
  EXPECT_FALSE(matches_filter("-order4", name));
  EXPECT_TRUE(matches_filter("-order9", name));
  EXPECT_NE(test::message_of<UsageError>([&] {
              matches_filter("(", name);
            }).find("--benchmark_filter: unreadable \"(\""),
            std::string::npos);
}

}  // namespace
}  // namespace pagemix::bench
