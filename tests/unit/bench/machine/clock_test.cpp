// SPDX-License-Identifier: Apache-2.0
// Which clock a run carries, and when it must be said.
#include "machine/clock.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

vfio::SystemPaths paths_in(const test::TemporaryFolder& folder) {
  return {folder.path() / "sys", folder.path() / "proc", folder.path() / "dev"};
}

TEST(Clock, NamesAreReadBack) {
  for (const ClockKind kind :
       {ClockKind::kInstructions, ClockKind::kHardwareNs, ClockKind::kEmulatedNs})
    EXPECT_EQ(parse_clock(to_string(kind)), kind);
  EXPECT_EQ(test::message_of<UsageError>([] { parse_clock("ns"); }),
            "--clock: unknown clock \"ns\"; allowed: instructions, hardware-ns, emulated-ns");
}

TEST(Clock, ARealMachineNeedsNoChoice) {
  const test::TemporaryFolder folder;
  folder.write("sys/class/dmi/id/sys_vendor", "Ampere\n");
  EXPECT_EQ(decide_clock(std::nullopt, paths_in(folder)), ClockKind::kHardwareNs);
}

TEST(Clock, AnEmulatedMachineMustSayItsClock) {
  const test::TemporaryFolder tree;
  tree.write("sys/firmware/devicetree/base/compatible", std::string("linux,dummy-virt\0", 17));
  const std::string message =
      test::message_of<UsageError>([&] { decide_clock(std::nullopt, paths_in(tree)); });
  EXPECT_NE(message.find("linux,dummy-virt"), std::string::npos) << message;
  EXPECT_NE(message.find("--clock instructions"), std::string::npos) << message;
  const test::TemporaryFolder dmi;
  dmi.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  EXPECT_THROW(decide_clock(std::nullopt, paths_in(dmi)), UsageError);
  EXPECT_EQ(decide_clock(ClockKind::kInstructions, paths_in(dmi)), ClockKind::kInstructions);
}

TEST(Clock, TicksBecomeUnits) {
  EXPECT_DOUBLE_EQ(ticks_to_units(1, 62'500'000), 16);
  EXPECT_DOUBLE_EQ(ticks_to_units(1747392, 1'000'000'000), 1747392);
}

TEST(Clock, TheUserClockAdvances) {
  const std::uint64_t begin = user_now_ns();
  usleep(2000);
  EXPECT_GE(user_now_ns() - begin, 2'000'000u);
}

}  // namespace
}  // namespace pagemix::bench
