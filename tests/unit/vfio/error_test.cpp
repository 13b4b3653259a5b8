// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>

#include "pagemix/vfio/vfio.hpp"

namespace pagemix::vfio {
namespace {

TEST(Error, NamesOperationErrnoAndExplanation) {
  const Error error(EINVAL, "map 4096 bytes at 0x8000000", "inside reserved range");
  EXPECT_STREQ(error.what(), "map 4096 bytes at 0x8000000: EINVAL: inside reserved range");
  EXPECT_EQ(error.errnum(), EINVAL);
}

TEST(Error, UsesTheLibrarysTextWithoutExplanation) {
  EXPECT_STREQ(Error(ENOENT, "open x").what(), "open x: ENOENT: No such file or directory");
}

TEST(Error, ShowsUnknownNumbers) { EXPECT_EQ(errno_name(4711), "errno 4711"); }

TEST(Error, DeviceInUseListsAllUsers) {
  const DeviceInUse error("0000:01:00.0", {"sda1 is mounted at /", "sda2 is swap space"});
  EXPECT_STREQ(error.what(),
               "bind 0000:01:00.0: EBUSY: the device is in use, nothing was changed: "
               "sda1 is mounted at /, sda2 is swap space");
  EXPECT_EQ(error.users().size(), 2U);
}

TEST(Files, OpenErrorNamesThePath) {
  try {
    open_file("/nonexistent/file", 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "open /nonexistent/file: ENOENT: No such file or directory");
  }
}

TEST(Files, WriteAttributeNeverCreates) {
  EXPECT_EQ(write_attribute("/tmp/pagemix-no-such-attribute", "x"), ENOENT);
}

TEST(Bar, ChecksBoundsAndAlignment) {
  pci::Bar bar(MappedMemory(-1, 4096, 0, 3, "test memory"), "BAR 0 of 0000:00:02.0");
  bar.write<std::uint32_t>(4092, 7);
  EXPECT_EQ(bar.read<std::uint32_t>(4092), 7U);
  EXPECT_EQ(bar.read<std::uint8_t>(4092), 7U);
  for (const std::uint64_t offset : {4096ULL, ~0ULL - 3}) {
    try {
      bar.read<std::uint32_t>(offset);
      FAIL() << "no error at " << offset;
    } catch (const Error& error) {
      EXPECT_EQ(error.errnum(), ERANGE) << error.what();
    }
  }
  try {
    bar.write<std::uint64_t>(4, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "access 8 bytes at offset 0x4 of BAR 0 of 0000:00:02.0: EINVAL: the offset must "
                 "be a multiple of the width");
  }
}

}  // namespace
}  // namespace pagemix::vfio
