// SPDX-License-Identifier: Apache-2.0
// Parts of the format of kmem:mm_page_alloc as two kernels print it.
#include "trace/gfp_flags.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

// Linux 6.12. ___GFP_HIGHMEM is bit 1, MOVABLE 3, ZERO 8, IO 6 (include/linux/gfp_types.h).
constexpr const char* k6_12 =
    R"((REC->gfp_flags) ? __print_flags(REC->gfp_flags, "|", )"
    R"({( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (1)))), "GFP_HIGHUSER"}, )"
    R"({( unsigned long)(( gfp_t)((((1UL))) << (1))), "__GFP_HIGHMEM"}, )"
    R"({( unsigned long)(( gfp_t)((((1UL))) << (3))), "__GFP_MOVABLE"}, )"
    R"({( unsigned long)(( gfp_t)((((1UL))) << (6))), "__GFP_IO"}, )"
    R"({( unsigned long)(( gfp_t)((((1UL))) << (8))), "__GFP_ZERO"}) : "none")";
// Linux 6.1: numbers.
constexpr const char* k6_1 =
    R"({(unsigned long)((( gfp_t)0x02u)), "__GFP_HIGHMEM"}, {(unsigned long)((( gfp_t)0x08u)), "__GFP_MOVABLE"}, )"
    R"({(unsigned long)((( gfp_t)0x100u)), "__GFP_ZERO"})";

TEST(GfpFlags, AreReadFromBothSpellings) {
  for (const char* format : {k6_12, k6_1}) {
    EXPECT_EQ(gfp_flag(format, "__GFP_HIGHMEM"), 0x2U);
    EXPECT_EQ(gfp_flag(format, "__GFP_MOVABLE"), 0x8U);
    EXPECT_EQ(gfp_flag(format, "__GFP_ZERO"), 0x100U);
    EXPECT_EQ(gfp_flag(format, "__GFP_NOTHING"), 0U);
  }
}

TEST(GfpFlags, BuffersAreToldFromOtherMemory) {
  const HeapFlags heaps(k6_12);
  EXPECT_TRUE(heaps.match(0x102));
  EXPECT_TRUE(heaps.match(0x142)) << "further flags do not matter";
  EXPECT_FALSE(heaps.match(0x10a)) << "a process's page";
  EXPECT_FALSE(heaps.match(0x100)) << "the kernel's own";
  EXPECT_FALSE(heaps.match(0x002)) << "not zeroed";
}

TEST(GfpFlags, AFormatThatDoesNotTellIsAnError) {
  EXPECT_NE(test::message_of<RunError>([] { HeapFlags("print fmt: \"\""); }).find("__GFP_ZERO"),
            std::string::npos);
}

}  // namespace
}  // namespace pagemix::bench
