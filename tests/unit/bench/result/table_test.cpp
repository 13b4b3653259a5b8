// SPDX-License-Identifier: Apache-2.0
// The table at the end.
#include "result/table.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace pagemix::bench {
namespace {

Case map_case(const std::string& mix, const std::string& state) {
  return {.family = "map_sgtable",
          .parts = {{"mix", mix},
                    {"layout", "scattered"},
                    {"bytes", "10485760"},
                    {"state", state, state == "warm" ? "" : state}}};
}

TEST(Table, RowsFollowTheCasesAndTheHeaderNamesTheClock) {
  const std::vector<Case> cases = {
      map_case("8-4-0", "warm"),
      map_case("order0", "cold"),
      {.family = "unmap_sgtable",
       .parts = {{"mix", "order0"}, {"layout", "buddy"}, {"bytes", "4096"}}},
      {.family = "sample_cost", .parts = {{"timer", "user"}}},
  };
  const std::map<std::string, Series> series = {
      {cases[0].name(),
       {{73616, 73656}, {{"chunks_order8", 9.5}, {"chunks_order4", 8}, {"leaves_4096", 2560}}}},
      {cases[1].name(), {{1747392}, {{"leaves_2097152", 5}, {"leaves_4096", 12}}}},
      {cases[3].name(), {{73}, {}}},
  };
  EXPECT_EQ(
      format_table(cases, series, ClockKind::kInstructions),
      "median and p90 in guest instructions\n"
      "family       mix     layout      bytes  state     median        p90  chunks              "
      "leaves\n"
      "map_sgtable  8-4-0   scattered  10 MiB  warm      73,636     73,652  9.5 x 2^8, 8 x 2^4  "
      "2560 x 4 KiB\n"
      "map_sgtable  order0  scattered  10 MiB  cold   1,747,392  1,747,392                      "
      "5 x 2 MiB, 12 x 4 KiB\n"
      "sample_cost                                           73         73\n");
}

std::string heading(const std::vector<Case>& cases) {
  std::map<std::string, Series> series;
  for (const Case& item : cases) series[item.name()] = {{1}, {}};
  const std::string text = format_table(cases, series, ClockKind::kHardwareNs);
  const std::size_t begin = text.find('\n') + 1;
  std::string line;
  for (const std::string& word : split_words(text.substr(begin, text.find('\n', begin) - begin)))
    line += (line.empty() ? "" : " ") + word;
  return line;
}

// Rows that differ in nothing that is shown would look alike.
TEST(Table, EveryPartThatDiffersHasAColumn) {
  const Case one{.family = "a", .parts = {{"mix", "m"}, {"window", "4096"}, {"op", "x"}}};
  const Case two{.family = "a", .parts = {{"mix", "m"}, {"window", "8192"}, {"op", "x"}}};
  EXPECT_EQ(heading({one, two}), "family mix window median p90 chunks leaves");
  EXPECT_EQ(heading({one}), "family mix median p90 chunks leaves");
}

// Each after the part that comes before it in a name.
TEST(Table, ColumnsOfSeveralFamiliesKeepTheOrderOfTheNames) {
  const std::vector<Case> cases = {
      {.family = "a", .parts = {{"mix", "m"}, {"bytes", "4096"}, {"domain", "lazy"}}},
      {.family = "a", .parts = {{"mix", "m"}, {"bytes", "4096"}, {"domain", "strict"}}},
      {.family = "b", .parts = {{"mix", "m"}, {"bytes", "4096"}, {"op", "x"}, {"domain", "lazy"}}},
      {.family = "b", .parts = {{"mix", "m"}, {"bytes", "4096"}, {"op", "y"}, {"domain", "lazy"}}}};
  EXPECT_EQ(heading(cases), "family mix bytes op domain median p90 chunks leaves");
}

// The value, also where the name is without it.
TEST(Table, OneThreadIsShownBesideTwo) {
  const std::vector<Case> cases = {{.family = "a", .parts = {{"threads", "1", ""}}},
                                   {.family = "a", .parts = {{"threads", "2"}}}};
  const std::string text =
      format_table(cases, {{"a", {{5}, {}}}, {"a/threads:2", {{9}, {}}}}, ClockKind::kHardwareNs);
  EXPECT_NE(text.find("\na       1 "), std::string::npos) << text;
  EXPECT_NE(text.find("\na       2 "), std::string::npos) << text;
}

TEST(Table, TheUnitFollowsTheClock) {
  EXPECT_EQ(format_table({}, {}, ClockKind::kHardwareNs).substr(0, 21), "median and p90 in ns\n");
  EXPECT_EQ(format_table({}, {}, ClockKind::kEmulatedNs).substr(0, 30),
            "median and p90 in emulated ns\n");
}

}  // namespace
}  // namespace pagemix::bench
