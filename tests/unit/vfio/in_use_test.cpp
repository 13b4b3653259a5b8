// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_system.hpp"

namespace pagemix::vfio::pci {
namespace {

using test::FakeSystem;
using Texts = std::vector<std::string>;

constexpr const char* nvme = "0000:00:04.0";
constexpr const char* net = "0000:00:03.0";

struct InUseTest : testing::Test {
  FakeSystem system;

  InUseTest() {
    system.add_pci(nvme, "1b36:0010", "0x010802");
    system.add_pci(net, "1af4:1041", "0x020000");
    system.add_block("pci0000:00/0000:00:04.0/nvme/nvme0", "nvme0n1", "259:0");
    system.add_block("pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1", "nvme0n1p1", "259:1");
    system.add_block("pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1", "nvme0n1p2", "259:2");
    system.add_block("pci0000:00/0000:00:05.0/ata1", "sda", "8:0");
    system.add_net("pci0000:00/0000:00:03.0/virtio0", "eth0");
    system.add_net("pci0000:00/0000:00:06.0/virtio1", "eth1");
  }
  Texts users(const char* bdf) {
    return device_users(Bdf::parse(bdf), system.paths(), system.options().probe);
  }
  void mount(const std::string& number, const std::string& point, const std::string& source) {
    system.put("proc/self/mountinfo",
               "21 1 0:19 / /proc rw,relatime shared:12 - proc proc rw\n22 1 " + number + " / " +
                   point + " rw,relatime shared:1 master:2 - ext4 " + source + " rw\n");
  }
};

TEST_F(InUseTest, AnIdleDeviceHasNoUsers) {
  mount("8:0", "/", "/dev/sda");
  EXPECT_EQ(users(nvme), Texts{});
  EXPECT_EQ(users(net), Texts{});
  EXPECT_NO_THROW(check_not_in_use(Bdf::parse(nvme), system.paths(), system.options().probe));
}

TEST_F(InUseTest, FindsAMountedDisk) {
  mount("259:0", "/mnt/with\\040blank", "/dev/root");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1 is mounted at /mnt/with blank"});
}

TEST_F(InUseTest, FindsAMountedPartition) {
  mount("259:2", "/", "/dev/nvme0n1p2");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1p2 is mounted at /"});
  try {
    check_not_in_use(Bdf::parse(nvme), system.paths(), system.options().probe);
    FAIL() << "no error";
  } catch (const DeviceInUse& error) {
    EXPECT_EQ(error.device(), nvme);
    EXPECT_STREQ(error.what(),
                 "bind 0000:00:04.0: EBUSY: the device is in use, nothing was changed: nvme0n1p2 "
                 "is mounted at /");
  }
}

TEST_F(InUseTest, DoesNotMixUpSimilarNumbers) {
  mount("259:10", "/", "/dev/nvme1n1p1");
  EXPECT_EQ(users(nvme), Texts{});
}

TEST_F(InUseTest, FindsABtrfsMountByItsSource) {
  mount("0:31", "/data", "/dev/nvme0n1p1");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1p1 is mounted at /data"});
}

TEST_F(InUseTest, FindsTheSecondDeviceOfABtrfs) {
  mount("0:31", "/data", "/dev/sda");
  system.put("sys/fs/btrfs/1111-2222/devices/nvme0n1p1", "");
  system.put("sys/fs/btrfs/features/x", "");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1p1 is part of the mounted btrfs 1111-2222"});
}

TEST_F(InUseTest, FindsSwap) {
  system.put("proc/swaps",
             "Filename\tType\tSize\tUsed\tPriority\n/dev/sda                partition\t1\t0\t-2\n"
             "/dev/nvme0n1p1\t\tpartition\t1048572\t0\t-3\n");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1p1 is swap space"});
}

TEST_F(InUseTest, FindsSwapThroughALinkAndAMapper) {
  system.add_block("virtual/block", "dm-1", "253:1");
  system.put("sys/devices/virtual/block/dm-1/dm/name", "vg-swap\n");
  system.add_holder("nvme0n1p1", "dm-1");
  system.link("dev/mapper/vg-swap", "dev/dm-1");
  system.put("proc/swaps", "Filename\n/dev/mapper/vg-swap partition 1 0 -2\n");
  EXPECT_EQ(users(nvme), (Texts{"dm-1 (on nvme0n1p1) is swap space",
                                "nvme0n1p1 is held by device-mapper dm-1 (vg-swap)"}));
}

TEST_F(InUseTest, FindsDeviceMapperThatNobodyMounts) {
  system.add_block("virtual/block", "dm-0", "253:0");
  system.put("sys/devices/virtual/block/dm-0/dm/name", "crypt\n");
  system.add_holder("nvme0n1", "dm-0");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1 is held by device-mapper dm-0 (crypt)"});
}

TEST_F(InUseTest, FindsMd) {
  system.add_block("virtual/block", "md0", "9:0");
  system.put("sys/devices/virtual/block/md0/md/level", "raid1\n");
  system.add_holder("nvme0n1p2", "md0");
  EXPECT_EQ(users(nvme), Texts{"nvme0n1p2 is held by md array md0 (raid1)"});
}

TEST_F(InUseTest, FindsAMountThroughAStack) {
  system.add_block("virtual/block", "md0", "9:0");
  system.put("sys/devices/virtual/block/md0/md/level", "raid1\n");
  system.add_block("virtual/block", "dm-0", "253:0");
  system.put("sys/devices/virtual/block/dm-0/dm/name", "vg-home\n");
  system.add_holder("nvme0n1p2", "md0");
  system.add_holder("md0", "dm-0");
  mount("253:0", "/home", "/dev/mapper/vg-home");
  const Texts found = users(nvme);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], "dm-0 (on md0 on nvme0n1p2) is mounted at /home");
}

TEST_F(InUseTest, FindsAMountOfAnNvmeMultipathHead) {
  // The controller has the hidden path device, the subsystem the head.
  system.add_pci("0000:00:07.0", "144d:a80a", "0x010802");
  system.add_block("pci0000:00/0000:00:07.0/nvme/nvme5", "nvme5c5n1", "0:0");
  system.add_block("virtual/nvme-subsystem/nvme-subsys5", "nvme5n1", "259:9");
  system.link("sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme5",
              "sys/devices/pci0000:00/0000:00:07.0/nvme/nvme5");
  system.link("sys/class/nvme-subsystem/nvme-subsys5",
              "sys/devices/virtual/nvme-subsystem/nvme-subsys5");
  EXPECT_EQ(users("0000:00:07.0"), Texts{});
  mount("259:9", "/srv", "/dev/nvme5n1");
  EXPECT_EQ(users("0000:00:07.0"), Texts{"nvme5n1 is mounted at /srv"});
  EXPECT_EQ(users(nvme), Texts{});
}

TEST_F(InUseTest, AsksForExclusiveUsersLast) {
  Texts asked;
  const ExclusiveProbe probe = [&](const std::filesystem::path& node, const std::string& number) {
    asked.push_back(node.filename().string() + " " + number);
    return number == "259:1";
  };
  EXPECT_EQ(device_users(Bdf::parse(nvme), system.paths(), probe),
            Texts{"nvme0n1p1 is opened exclusively (a mount in another namespace, or ZFS)"});
  EXPECT_EQ(asked, (Texts{"nvme0n1 259:0", "nvme0n1p1 259:1", "nvme0n1p2 259:2"}));
}

TEST_F(InUseTest, TheExclusiveProbeOpensBlockNodesOnly) {
  EXPECT_FALSE(has_exclusive_user(system.paths().dev / "nvme0n1", "259:0"));
  EXPECT_FALSE(has_exclusive_user("/nonexistent", "259:0"));
}

TEST_F(InUseTest, WithoutMountinfoNothingIsSafe) {
  std::filesystem::remove(system.paths().proc / "self/mountinfo");
  EXPECT_THROW(users(nvme), Error);
}

TEST_F(InUseTest, FindsTheDefaultRouteOfIPv4) {
  const std::string titles = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
  system.put("proc/net/route",
             titles +
                 "eth1\t00000000\t0202000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                 "eth0\t0002000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n");
  EXPECT_EQ(users(net), Texts{});
  system.put("proc/net/route",
             titles + "eth0\t00000000\t0202000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n");
  EXPECT_EQ(users(net), Texts{"eth0 carries the default route (IPv4)"});
  system.put("proc/net/route",
             titles + "eth0\t00000000\t00000000\t0201\t0\t0\t100\t00000000\t0\t0\t0\n");
  EXPECT_EQ(users(net), Texts{}) << "a reject route";
  system.put("proc/net/route",
             titles + "eth0\t00000000\t0202000A\t0003\t0\t0\t100\t000000FF\t0\t0\t0\n");
  EXPECT_EQ(users(net), Texts{}) << "0.0.0.0/8";
}

TEST_F(InUseTest, FindsTheDefaultRouteOfIPv6) {
  const std::string zeros(32, '0');
  const auto route = [&](const std::string& length, const std::string& flags,
                         const std::string& name) {
    return zeros + " " + length + " " + zeros + " 00 fe80" + std::string(28, '0') +
           " 00000400 00000001 00000000 " + flags + "     " + name + "\n";
  };
  system.put("proc/net/ipv6_route",
             route("00", "00200200", "lo") + route("40", "00000001", "eth0") +
                 route("00", "00450003", "eth1") + route("00", "00200200", "eth0"));
  EXPECT_EQ(users(net), Texts{});
  system.put("proc/net/ipv6_route", route("00", "00450003", "eth0"));
  EXPECT_EQ(users(net), Texts{"eth0 carries the default route (IPv6)"});
}

TEST_F(InUseTest, FindsTheDefaultRouteOfABridgeAboveABond) {
  system.add_net("virtual", "bond0");
  system.add_net("virtual", "br0");
  system.link("sys/class/net/eth0/upper_bond0", "sys/devices/virtual/net/bond0");
  system.link("sys/class/net/bond0/upper_br0", "sys/devices/virtual/net/br0");
  system.put("proc/net/route",
             "Iface\nbr0\t00000000\t0202000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  EXPECT_EQ(users(net), Texts{"br0 carries the default route (IPv4)"});
}

TEST_F(InUseTest, ReportsEveryUser) {
  mount("259:1", "/", "/dev/root");
  system.put("proc/swaps", "Filename\n/dev/nvme0n1p2 partition 1 0 -2\n");
  EXPECT_EQ(users(nvme), (Texts{"nvme0n1p1 is mounted at /", "nvme0n1p2 is swap space"}));
}

}  // namespace
}  // namespace pagemix::vfio::pci
