// SPDX-License-Identifier: Apache-2.0
// INI reading: every entry knows its line, every fault names it.
#include "plan/ini.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;

TEST(Ini, EntriesKnowSectionAndLine) {
  const Ini ini =
      parse_ini("# comment\n\n[run]\nbytes = 10M 64K  # sizes\n\n[other]\nkey=value\n", "a.ini");
  ASSERT_EQ(ini.entries.size(), 2u);
  EXPECT_EQ(ini.entries[0].section, "run");
  EXPECT_EQ(ini.entries[0].key, "bytes");
  EXPECT_EQ(ini.entries[0].value, "10M 64K");
  EXPECT_EQ(ini.entries[0].where, "a.ini:4");
  EXPECT_EQ(ini.entries[1].section, "other");
  EXPECT_EQ(ini.entries[1].where, "a.ini:7");
  ASSERT_EQ(ini.sections.size(), 2u);
  EXPECT_EQ(ini.sections[1].where, "a.ini:6");
}

TEST(Ini, SectionNamesWithDotsAndDashesKeepTheirKeys) {
  const Ini ini = parse_ini("[8-4-0.mid]\nsteps = 8:high\n", "a.ini");
  ASSERT_EQ(ini.entries.size(), 1u);
  EXPECT_EQ(ini.entries[0].section, "8-4-0.mid");
  EXPECT_EQ(ini.entries[0].value, "8:high");
}

TEST(Ini, CarriageReturnsAndEmptyValuesAreRead) {
  const Ini ini = parse_ini("[run]\r\nbytes =\r\n", "a.ini");
  ASSERT_EQ(ini.entries.size(), 1u);
  EXPECT_EQ(ini.entries[0].value, "");
}

TEST(Ini, AnUnreadableLineIsNamed) {
  EXPECT_EQ(message_of<UsageError>([] { parse_ini("[run]\n\nbytes 10M\n", "a.ini"); }),
            "a.ini:3: unreadable line \"bytes 10M\"; allowed: [section], key = value, # comment");
  EXPECT_EQ(message_of<UsageError>([] { parse_ini("[run]\n= 10M\n", "a.ini"); }),
            "a.ini:2: unreadable line \"= 10M\"; allowed: [section], key = value, # comment");
  EXPECT_EQ(message_of<UsageError>([] { parse_ini("[]\n", "a.ini"); }),
            "a.ini:1: section without a name");
}

TEST(Ini, AKeyOrSectionGivenTwiceNamesBothLines) {
  EXPECT_EQ(message_of<UsageError>([] { parse_ini("[run]\nseed = 1\nseed = 2\n", "a.ini"); }),
            "a.ini:3: key \"seed\" of [run] is already at a.ini:2");
  EXPECT_EQ(message_of<UsageError>([] { parse_ini("[run]\nseed = 1\n[run]\n", "a.ini"); }),
            "a.ini:3: section [run] is already at a.ini:1");
}

TEST(Ini, AFileThatCannotBeReadIsNamed) {
  EXPECT_EQ(message_of<UsageError>([] { read_ini("/no/such.ini"); }), "cannot read /no/such.ini");
  EXPECT_EQ(message_of<UsageError>([] { read_ini("/"); }), "cannot read /");
}

}  // namespace
}  // namespace pagemix::bench
