// SPDX-License-Identifier: Apache-2.0
// What the result says about the machine, from made-up /proc and /sys.
#include "machine/environment.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace pagemix::bench {
namespace {

class Environment : public testing::Test {
 protected:
  vfio::SystemPaths paths() const {
    return {folder_.path() / "sys", folder_.path() / "proc", folder_.path() / "dev"};
  }
  test::TemporaryFolder folder_;
};

TEST_F(Environment, ArmCoresAreNamedByTheirPart) {
  folder_.write("proc/cpuinfo",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nprocessor\t: 1\n");
  EXPECT_EQ(cpu_json(paths())["model"], "Cortex-A72");
  folder_.write("proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x123\n");
  EXPECT_EQ(cpu_json(paths())["model"], "arm64 0x99/0x123");
}

TEST_F(Environment, TheGovernorIsNullWithoutCpufreq) {
  folder_.write("proc/cpuinfo", "model name\t: AMD EPYC\n");
  EXPECT_EQ(cpu_json(paths())["model"], "AMD EPYC");
  EXPECT_TRUE(cpu_json(paths())["governor"].is_null());
  folder_.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(cpu_json(paths())["governor"], "performance");
}

TEST_F(Environment, MemoryIsInKibibytes) {
  folder_.write("proc/meminfo",
                "MemTotal:        2031616 kB\nMemFree:          100 kB\nOther: 1 kB\n");
  EXPECT_EQ(meminfo_json(paths()).dump(), R"({"MemTotal":2031616,"MemFree":100})");
  EXPECT_EQ(meminfo_bytes("MemFree", paths()), 102400u);
  EXPECT_EQ(meminfo_bytes("Missing", paths()), 0u);
}

TEST_F(Environment, BuddyinfoKeepsItsLines) {
  folder_.write("proc/buddyinfo",
                "Node 0, zone      DMA      1      0 \nNode 0, zone   Normal  5\n");
  EXPECT_EQ(buddyinfo_json(paths()).size(), 2u);
  EXPECT_EQ(buddyinfo_json(paths())[0], "Node 0, zone      DMA      1      0");
}

TEST_F(Environment, TheMachineIsNamedByDmiOrDeviceTree) {
  EXPECT_EQ(machine_name(paths()), "unknown");
  folder_.write("sys/firmware/devicetree/base/model", std::string("Radxa ROCK 5B\0", 14));
  EXPECT_EQ(machine_name(paths()), "Radxa ROCK 5B");
}

TEST(EnvironmentNames, DomainModesAndDrivers) {
  vfio::pci::DeviceInfo device;
  EXPECT_EQ(domain_mode(device), "none");
  device.iommu_group = 3;
  device.iommu_group_type = "DMA";
  EXPECT_EQ(domain_mode(device), "strict");
  device.iommu_group_type = "DMA-FQ";
  EXPECT_EQ(domain_mode(device), "lazy");
  device.iommu_group_type = "identity";
  EXPECT_EQ(domain_mode(device), "identity");
  for (const char* mode : {"strict", "lazy", "identity"}) {
    device.iommu_group_type = domain_type(mode);
    EXPECT_EQ(domain_mode(device), mode);
  }
  EXPECT_EQ(iommu_driver(device), "none");
  device.iommu_driver = "virtio_iommu";
  EXPECT_EQ(iommu_driver(device), "virtio-iommu");
}

TEST(EnvironmentNames, KernelVersionsCompare) {
  EXPECT_EQ(parse_kernel_version("6.12.95+deb12-arm64"), (KernelVersion{6, 12}));
  EXPECT_LT(parse_kernel_version("6.1.0-57-arm64"), (KernelVersion{6, 12}));
  EXPECT_GT(parse_kernel_version("7.3.4"), (KernelVersion{6, 16}));
  EXPECT_EQ(parse_kernel_version("odd"), KernelVersion{});
}

}  // namespace
}  // namespace pagemix::bench
