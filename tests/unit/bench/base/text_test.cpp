// SPDX-License-Identifier: Apache-2.0
// Reading of numbers and sizes, and their printing.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pagemix::bench {
namespace {

TEST(Text, SizesAreReadWithAndWithoutSuffix) {
  EXPECT_EQ(parse_size("10485760"), 10485760u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("10M"), 10485760u);
  EXPECT_EQ(parse_size("2G"), 2147483648u);
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_size("17179869183G"), std::uint64_t{17179869183} << 30);
}

TEST(Text, SizesThatAreNoneAreRefused) {
  for (const char* text : {"", "K", "10 M", "10Q", "10MB", "10m", "-1", "+1", "1.5M", "0x10", "M10",
                           "18446744073709551616", "17179869184G", "99999999999999999999K", " 1"})
    EXPECT_FALSE(parse_size(text).has_value()) << '"' << text << '"';
}

TEST(Text, NumbersThatAreNoneAreRefused) {
  EXPECT_EQ(parse_number("42"), 42u);
  for (const char* text : {"", "4 2", "4x", "-4", "0x4", "1e3", "18446744073709551616"})
    EXPECT_FALSE(parse_number(text).has_value()) << '"' << text << '"';
}

TEST(Text, SizesArePrintedInTheLargestWholeUnit) {
  EXPECT_EQ(format_size(4096), "4 KiB");
  EXPECT_EQ(format_size(10485760), "10 MiB");
  EXPECT_EQ(format_size(std::uint64_t{1} << 30), "1 GiB");
  EXPECT_EQ(format_size(4097), "4097 B");
  EXPECT_EQ(format_size(0), "0 B");
}

TEST(Text, WordsAreSplitAtBlanksAndCommas) {
  EXPECT_EQ(split_words(" a, b\tc,,d "), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(split_words(" , ").empty());
  EXPECT_EQ(trim("  a b \r"), "a b");
  EXPECT_EQ(format_hex(0x40201000), "0x40201000");
}

}  // namespace
}  // namespace pagemix::bench
