// SPDX-License-Identifier: Apache-2.0
// Phase markers.
#include "machine/marker.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

TEST(Marker, LinesAreThoseOfTheResultFormat) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("markers", "before\n");
  {
    const Marker marker(file);
    marker.begin("map_sgtable/mix:order0", 1);
    marker.end("map_sgtable/mix:order0", 1, 10);
  }
  EXPECT_EQ(test::read_file(file),
            "before\n@pagemix begin map_sgtable/mix:order0 1\n"
            "@pagemix end map_sgtable/mix:order0 1 10\n");
}

TEST(Marker, WithoutAFileNothingHappens) {
  const Marker marker;
  EXPECT_NO_THROW(marker.begin("a", 0));
  EXPECT_NO_THROW(marker.end("a", 0, 1));
}

TEST(Marker, FailuresNameTheFile) {
  EXPECT_EQ(test::message_of<RunError>([] { Marker("/no/such/tty"); }),
            "open marker file /no/such/tty: ENOENT: No such file or directory");
  EXPECT_EQ(test::message_of<RunError>([] { Marker("/dev/full").begin("a", 0); }),
            "write marker file /dev/full: ENOSPC: No space left on device");
}

}  // namespace
}  // namespace pagemix::bench
