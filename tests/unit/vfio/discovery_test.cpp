// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_system.hpp"

namespace pagemix::vfio::pci {
namespace {

using test::FakeSystem;

TEST(Bdf, RoundTrips) {
  for (const char* text : {"0000:00:02.0", "ffff:ff:1f.7", "10000:e1:00.0"})
    EXPECT_EQ(Bdf::parse(text).text(), text);
  EXPECT_EQ(Bdf::parse("00:02.1").text(), "0000:00:02.1");
}

TEST(Bdf, RefusesEverythingElse) {
  for (const char* text : {"",
                           ":",
                           "0000:00:02",
                           "0000:00:02.8",
                           "0000:00:20.0",
                           "0000:100:02.0",
                           "000:00:02.0",
                           "0000:00:2.0",
                           "0000:00:02.00",
                           " 0000:00:02.0",
                           "0000:00:02.0\n",
                           "0000-00-02.0",
                           "0000:00:02,0",
                           "g000:00:02.0",
                           "0000:0g:02.0",
                           "0000:00:-1.0",
                           "0000:0000:00:02.0",
                           "123456789:00:02.0",
                           "../../etc",
                           "eth0"})
    EXPECT_FALSE(Bdf::try_parse(text)) << text;
  try {
    Bdf::parse("0000:00:20.0");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "read PCI address '0000:00:20.0': EINVAL: allowed: domain:bus:device.function in "
                 "hexadecimal, as 0000:00:02.0 or 00:02.0");
  }
}

struct DiscoveryTest : testing::Test {
  FakeSystem system;

  DiscoveryTest() {
    system.add_pci("0000:00:03.0", "1af4:1041", "0x020000");
    system.add_pci("0000:00:02.0", "1234:11e8", "0x00ff00");
    system.add_driver("virtio-pci");
    system.add_driver("vfio-pci");
    system.set_driver("0000:00:03.0", "virtio-pci");
    system.add_group(4, {"0000:00:02.0", "0000:00:03.0"}, "DMA");
    // As arm-smmu-v3 registers itself.
    system.put("sys/bus/platform/drivers/arm-smmu-v3/bind", "");
    system.link("sys/devices/platform/arm-smmu-v3.0.auto/driver",
                "sys/bus/platform/drivers/arm-smmu-v3");
    system.link("sys/devices/platform/arm-smmu-v3.0.auto/iommu/smmu3.0x9050000/device",
                "sys/devices/platform/arm-smmu-v3.0.auto");
    system.link("sys/devices/pci0000:00/0000:00:02.0/iommu",
                "sys/devices/platform/arm-smmu-v3.0.auto/iommu/smmu3.0x9050000");
  }
  std::vector<std::string> blocker_texts(const std::string& bdf, const std::string& driver) {
    std::vector<std::string> texts;
    for (const Blocker& blocker :
         blockers(read_device(Bdf::parse(bdf), system.paths()), driver, system.paths()))
      texts.push_back(blocker.text + " | " + blocker.remedy);
    return texts;
  }
};

TEST_F(DiscoveryTest, ListsDevicesInOrder) {
  const auto devices = list_devices(system.paths());
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].bdf.text(), "0000:00:02.0");
  EXPECT_EQ(devices[1].bdf.text(), "0000:00:03.0");
}

TEST_F(DiscoveryTest, ReadsOneDevice) {
  system.put("sys/devices/pci0000:00/0000:00:02.0/numa_node", "1\n");
  system.put("sys/devices/pci0000:00/0000:00:02.0/driver_override", "vfio-pci\n");
  const DeviceInfo info = read_device(Bdf::parse("00:02.0"), system.paths());
  EXPECT_EQ(info.id(), "1234:11e8");
  EXPECT_TRUE(edu::is_edu(info));
  EXPECT_EQ(info.class_code, 0x00ff00U);
  EXPECT_FALSE(info.is_bridge());
  EXPECT_EQ(info.numa_node, 1);
  EXPECT_EQ(info.driver, std::nullopt);
  EXPECT_EQ(info.driver_override, "vfio-pci");
  EXPECT_EQ(info.iommu_group, 4);
  EXPECT_EQ(info.iommu_group_type, "DMA");
  EXPECT_EQ(info.iommu_device, "smmu3.0x9050000");
  EXPECT_EQ(info.iommu_driver, "arm-smmu-v3");
  EXPECT_EQ(info.group_members, (std::vector<Bdf>{Bdf::parse("00:02.0"), Bdf::parse("00:03.0")}));
}

TEST_F(DiscoveryTest, KnowsX86IommusByName) {
  system.put("sys/devices/virtual/iommu/dmar0/x", "");
  system.link("sys/devices/pci0000:00/0000:00:02.0/iommu", "sys/devices/virtual/iommu/dmar0");
  EXPECT_EQ(read_device(Bdf::parse("00:02.0"), system.paths()).iommu_driver, "intel-iommu");
}

TEST_F(DiscoveryTest, AnIommuWaitsForNoGroupOfItsOwn) {
  // QEMU's and real AMD IOMMUs are PCI functions without driver and group.
  system.put("sys/class/iommu/ivhd0/x", "");
  system.add_pci("0000:00:01.0", "1022:0000", "0x080600");
  system.add_pci("0000:00:04.0", "1234:11e8", "0x00ff00");
  EXPECT_FALSE(read_device(Bdf::parse("00:01.0"), system.paths()).iommu_group_pending);
  EXPECT_TRUE(read_device(Bdf::parse("00:04.0"), system.paths()).iommu_group_pending);
}

TEST_F(DiscoveryTest, AMissingDeviceIsNamed) {
  try {
    read_device(Bdf::parse("00:09.0"), system.paths());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), ENODEV);
    EXPECT_NE(std::string(error.what()).find("find PCI device 0000:00:09.0"), std::string::npos);
  }
}

TEST_F(DiscoveryTest, NoPciBusMeansNoDevices) {
  EXPECT_TRUE(list_devices({"/nonexistent", "/nonexistent", "/nonexistent"}).empty());
}

TEST_F(DiscoveryTest, NamesTheDeviceThatKeepsTheGroup) {
  EXPECT_EQ(blocker_texts("00:02.0", "vfio-pci"),
            (std::vector<std::string>{
                "it shares IOMMU group 4 with 0000:00:03.0 (driver virtio-pci) | echo "
                "0000:00:03.0 > /sys/bus/pci/devices/0000:00:03.0/driver/unbind"}));
  try {
    check_group_viable(read_device(Bdf::parse("00:02.0"), system.paths()), system.paths());
    FAIL() << "no error";
  } catch (const GroupNotViable& error) {
    EXPECT_STREQ(error.what(),
                 "use IOMMU group 4 of 0000:00:02.0: EBUSY: 0000:00:03.0 (driver virtio-pci) is in "
                 "the same group: echo 0000:00:03.0 > "
                 "/sys/bus/pci/devices/0000:00:03.0/driver/unbind");
  }
}

TEST_F(DiscoveryTest, VfioAndUnboundNeighboursDoNotKeepTheGroup) {
  for (const char* driver : {"", "vfio-pci", "mlx5_vfio_pci", "pci-stub", "pcieport"}) {
    if (*driver != '\0') system.add_driver(driver);
    system.set_driver("0000:00:03.0", driver);
    EXPECT_TRUE(blocker_texts("00:02.0", "vfio-pci").empty()) << driver;
  }
}

TEST_F(DiscoveryTest, TheGroupDoesNotMatterToAKernelDriver) {
  system.add_driver("pagemix");
  EXPECT_TRUE(blocker_texts("00:02.0", "pagemix").empty());
}

TEST_F(DiscoveryTest, ReportsEveryBlockerAtOnce) {
  system.add_pci("0000:00:04.0", "8086:0001", "0x060400");
  const auto texts = blocker_texts("00:04.0", "pagemix");
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0], "it is a bridge | ");
  EXPECT_NE(texts[1].find("no IOMMU translates for it"), std::string::npos);
  EXPECT_EQ(texts[2], "driver pagemix is not loaded | modprobe pagemix");
}

TEST_F(DiscoveryTest, AGroupMayComeWithTheFirstDriver) {
  system.add_pci("0000:00:05.0", "1234:11e8", "0x00ff00");
  EXPECT_FALSE(read_device(Bdf::parse("00:05.0"), system.paths()).iommu_group_pending)
      << "no IOMMU in the machine";
  EXPECT_EQ(blocker_texts("00:05.0", "vfio-pci").size(), 1U);
  system.link("sys/class/iommu/smmu3.0x9050000",
              "sys/devices/platform/arm-smmu-v3.0.auto/iommu/smmu3.0x9050000");
  EXPECT_TRUE(read_device(Bdf::parse("00:05.0"), system.paths()).iommu_group_pending);
  EXPECT_TRUE(blocker_texts("00:05.0", "vfio-pci").empty());
  system.set_driver("0000:00:05.0", "virtio-pci");
  EXPECT_FALSE(read_device(Bdf::parse("00:05.0"), system.paths()).iommu_group_pending)
      << "a driver has probed, no group will come";
}

TEST_F(DiscoveryTest, SeesNoIommuGroups) {
  system.put("sys/kernel/iommu_groups/4/name", "vfio-noiommu\n");
  system.set_driver("0000:00:03.0", "");
  const auto texts = blocker_texts("00:02.0", "vfio-pci");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_NE(texts[0].find("no-IOMMU group"), std::string::npos);
}

TEST_F(DiscoveryTest, AUserOfTheDeviceIsABlocker) {
  system.add_net("pci0000:00/0000:00:03.0/virtio0", "eth0");
  system.put("proc/net/route",
             "Iface\nDestination\neth0\t00000000\t0202000A\t0003\t0\t0\t0\t00000000\n");
  const auto texts = blocker_texts("00:03.0", "virtio-pci");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_NE(texts[0].find("eth0 carries the default route (IPv4)"), std::string::npos);
}

}  // namespace
}  // namespace pagemix::vfio::pci
