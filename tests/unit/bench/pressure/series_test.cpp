// SPDX-License-Identifier: Apache-2.0
// Names, tables and options of what runs under memory pressure.
#include "pressure/series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "plan/cases.hpp"
#include "pressure/churn.hpp"
#include "program/pressure_command.hpp"

namespace pagemix::bench {
namespace {

const std::vector<std::string> kMixes = {"8-4-0", "8-0-0"};

std::vector<std::string> names_of(const std::string& keys) {
  const Ini ini = parse_ini("[run]\n" + keys, "p.ini");
  std::vector<std::string> names;
  for (const Case& item : expand(make_profile(ini, "p.ini", {}, kMixes)))
    names.push_back(item.name());
  return names;
}

TEST(Names, OneSeriesAMixAndState) {
  EXPECT_EQ(
      names_of("families = alloc_series\nmixes = 8-4-0 8-0-0\nmemory = fresh low\n"),
      (std::vector<std::string>{"alloc_series/mix:8-4-0/heap:pagemix/memory:fresh/bytes:10485760",
                                "alloc_series/mix:8-0-0/heap:pagemix/memory:fresh/bytes:10485760",
                                "alloc_series/mix:8-4-0/heap:pagemix/memory:low/bytes:10485760",
                                "alloc_series/mix:8-0-0/heap:pagemix/memory:low/bytes:10485760"}));
}

TEST(Names, AnotherHeapHasOneMixItsOwn) {
  EXPECT_EQ(names_of("families = alloc_series\nmixes = 8-4-0 8-0-0\ntrace = on off\n"
                     "heap = /dev/dma_heap/pagemix /dev/dma_heap/system\n"),
            (std::vector<std::string>{
                "alloc_series/mix:8-4-0/heap:pagemix/memory:fresh/bytes:10485760",
                "alloc_series/mix:8-0-0/heap:pagemix/memory:fresh/bytes:10485760",
                "alloc_series/mix:8-4-0/heap:pagemix/memory:fresh/bytes:10485760/trace:off",
                "alloc_series/mix:8-0-0/heap:pagemix/memory:fresh/bytes:10485760/trace:off",
                "alloc_series/mix:own/heap:system/memory:fresh/bytes:10485760",
                "alloc_series/mix:own/heap:system/memory:fresh/bytes:10485760/trace:off"}));
}

TEST(Names, FixedOrdersNameTheOrder) {
  EXPECT_EQ(names_of("families = order_speed\nmixes = 8-4-0\nbytes = 64M\n"),
            (std::vector<std::string>{"order_speed/order:4/memory:fresh/bytes:67108864",
                                      "order_speed/order:8/memory:fresh/bytes:67108864"}));
}

TEST(Names, OnlyPagemixsOwnBuffersNeedTheModule) {
  const Ini ini = parse_ini(
      "[run]\nfamilies = alloc_series\nmixes = 8-4-0\n"
      "heap = /dev/dma_heap/pagemix /dev/dma_heap/system\n",
      "p.ini");
  const std::vector<Case> cases = expand(make_profile(ini, "p.ini", {}, kMixes));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_TRUE(cases[0].needs_module_heap());
  EXPECT_FALSE(cases[1].needs_module_heap());
}

TEST(Keys, WrongValuesAreRefused) {
  for (const char* keys : {"memory = stale\n", "heap = system\n", "heap = /dev/dma_heap/\n",
                           "trace = auto on\n", "trace = maybe\n", "allocations = 0\n",
                           "pause = -1\n", "orders = 16\n", "unusable = 9\n", "state_limit = 0\n"})
    EXPECT_THROW(names_of(std::string("families = alloc_series\nmixes = 8-4-0\n") + keys),
                 UsageError)
        << keys;
}

TEST(Churn, SevenOfTenBuffersAreOnePageAndNoneIsAboveOneMebibyte) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 100000; ++i) ++seen[draw_buffer_pages(random)];
  EXPECT_NEAR(seen[1], 70000, 700);
  EXPECT_EQ(seen.rbegin()->first, 256u);
  EXPECT_EQ(seen.begin()->first, 1u);
}

TEST(PressureOptions, AreReadUpToTheCommand) {
  const auto options = parse_pressure(
      {"--state", "pinned", "--seed", "7", "--block", "128K", "--", "sh", "-c", "x"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->spec.state, "pinned");
  EXPECT_EQ(options->spec.seed, 7u);
  EXPECT_EQ(options->spec.block_bytes, 128u << 10);
  EXPECT_EQ(options->command, (std::vector<std::string>{"sh", "-c", "x"}));
}

TEST(PressureOptions, WrongOnesAreRefusedWithWhatIsAllowed) {
  const auto message = [](const std::vector<std::string>& arguments) -> std::string {
    try {
      parse_pressure(arguments);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(message({}).find("fresh, low, fragmented, pinned, aged"), std::string::npos);
  EXPECT_NE(message({"--state", "old"}).find("\"old\""), std::string::npos);
  EXPECT_NE(message({"--state", "low", "--block", "96K"}).find("powers of two"), std::string::npos);
  EXPECT_NE(message({"--state", "low", "--unusable", "101"}).find("10..100"), std::string::npos);
  EXPECT_NE(message({"--state", "low", "--seconds", "0"}).find("1..86400"), std::string::npos);
  EXPECT_NE(message({"--state", "low", "--"}).find("no command"), std::string::npos);
  EXPECT_NE(message({"--state", "low", "--seconds", "3", "--", "x"}).find("one of them"),
            std::string::npos);
  EXPECT_NE(message({"--state", "low", "--colour"}).find("--help"), std::string::npos);
}

}  // namespace
}  // namespace pagemix::bench
