// SPDX-License-Identifier: Apache-2.0
// Which drive a run takes, on a tree as sysfs shows it.
#include "machine/drive.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "machine/device_session.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;
using test::TemporaryFolder;

class ChooseDrive : public testing::Test {
 protected:
  vfio::SystemPaths paths() const { return {.sys = folder_.path(), .proc = {}, .dev = {}}; }
  // A function with a group of its own; @p driver "" for none.
  void add(const std::string& bdf, const std::string& pci_class, const std::string& driver,
           bool translated = true) {
    const std::string device = "bus/pci/devices/" + bdf + "/";
    folder_.write(device + "vendor", "0x1b36\n");
    folder_.write(device + "device", "0x0010\n");
    folder_.write(device + "class", pci_class + "\n");
    const auto link = [&](const std::string& name, const std::string& target) {
      std::filesystem::create_directories(folder_.path() / target);
      std::filesystem::create_directory_symlink(folder_.path() / target,
                                                folder_.path() / (device + name));
    };
    if (!driver.empty()) link("driver", "bus/pci/drivers/" + driver);
    if (translated) link("iommu_group", "kernel/iommu_groups/" + std::to_string(++groups_));
  }
  std::string chosen(std::optional<std::string> drive = {},
                     std::optional<std::string> device = {}) {
    return choose_drive(drive, device, paths()).bdf.text();
  }
  std::string refused(std::optional<std::string> drive = {},
                      std::optional<std::string> device = {}) {
    return message_of<UsageError>([&] { chosen(drive, device); });
  }

  TemporaryFolder folder_;
  int groups_ = 0;
};

constexpr const char* kNvme = "0x010802";
constexpr const char* kOther = "0x00ff00";

TEST_F(ChooseDrive, TheOnlyOneWithoutADriverIsTaken) {
  add("0000:00:02.0", kOther, "");
  add("0000:00:03.0", kNvme, "");
  add("0000:00:04.0", kNvme, "nvme");
  EXPECT_EQ(chosen(), "0000:00:03.0");
}

TEST_F(ChooseDrive, OneThatALastRunLeftBoundIsTaken) {
  add("0000:00:03.0", kNvme, "vfio-pci");
  EXPECT_EQ(chosen(), "0000:00:03.0");
}

TEST_F(ChooseDrive, ADriveOfTheSystemIsNeverTakenUnasked) {
  add("0000:00:03.0", kNvme, "nvme");
  EXPECT_NE(refused().find("pass --drive with one of 0000:00:03.0 (driver nvme)"),
            std::string::npos);
  EXPECT_EQ(chosen("0000:00:03.0"), "0000:00:03.0");
}

TEST_F(ChooseDrive, BetweenTwoTheUserChooses) {
  add("0000:00:03.0", kNvme, "");
  add("0000:00:04.0", kNvme, "");
  EXPECT_NE(refused().find("0000:00:03.0 (no driver), 0000:00:04.0 (no driver)"),
            std::string::npos);
  EXPECT_EQ(chosen("0000:00:04.0"), "0000:00:04.0");
}

TEST_F(ChooseDrive, TheDeviceUnderTestIsTheDriveIfItIsOne) {
  add("0000:00:02.0", kOther, "");
  add("0000:00:03.0", kNvme, "");
  add("0000:00:04.0", kNvme, "nvme");
  EXPECT_EQ(chosen({}, "0000:00:04.0"), "0000:00:04.0");
  EXPECT_EQ(chosen({}, "0000:00:02.0"), "0000:00:03.0");
  EXPECT_EQ(chosen("0000:00:03.0", "0000:00:04.0"), "0000:00:03.0");
}

TEST_F(ChooseDrive, SomethingElseIsNoDrive) {
  add("0000:00:02.0", kOther, "");
  EXPECT_NE(refused("0000:00:02.0").find("--drive 0000:00:02.0: [1b36:0010] is no NVMe controller"),
            std::string::npos);
  EXPECT_NE(refused("nvme0").find("--drive: unreadable address \"nvme0\""), std::string::npos);
  EXPECT_NE(refused().find("there is none"), std::string::npos);
}

TEST_F(ChooseDrive, ADriveWithoutTranslationIsNotTakenUnasked) {
  add("0000:00:03.0", kNvme, "", /*translated=*/false);
  EXPECT_NE(refused().find("0000:00:03.0 (no driver)"), std::string::npos);
}

TEST_F(ChooseDrive, TheDeviceToMapForIsNotTheDriveWhereThereIsAChoice) {
  add("0000:00:02.0", kOther, "");
  add("0000:00:03.0", kNvme, "");
  EXPECT_EQ(choose_device({}, paths()).bdf.text(), "0000:00:02.0");
}

TEST_F(ChooseDrive, ALoneDriveServesBoth) {
  add("0000:00:03.0", kNvme, "");
  EXPECT_EQ(choose_device({}, paths()).bdf.text(), "0000:00:03.0");
  EXPECT_EQ(chosen(), "0000:00:03.0");
}

}  // namespace
}  // namespace pagemix::bench
