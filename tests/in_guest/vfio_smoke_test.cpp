// SPDX-License-Identifier: Apache-2.0
// A VFIO mapping of a heap buffer is real: for every mix the device reads and
// writes what the CPU mapping shows, at the ends of the buffer and across every
// kind of chunk border. The device changes drivers and comes back.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "support/kernel.hpp"
#include "vfio_fixture.hpp"

namespace pagemix::test {
namespace {

using vfio::iommu::Access;
using vfio::iommu::Mapping;

constexpr std::uint64_t kBytes = 10 * kMiB;
constexpr std::uint64_t kTransfer = 2048;

/// Byte that belongs at `offset` of a pattern; neighbours and pages differ.
std::byte pattern(std::uint64_t offset, std::uint64_t seed) {
  const std::uint64_t mixed = (offset + seed * 0x9e3779b97f4a7c15U) * 0xff51afd7ed558ccdU;
  return static_cast<std::byte>(mixed >> 56);
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(i, seed);
}

/// Offset of the first byte that is not the pattern's, or the size.
std::uint64_t first_difference(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(i, seed)) return i;
  return bytes.size();
}

/// Start, end, and across the borders of 4 KiB, 64 KiB, 1 MiB and 2 MiB chunks
/// (the second one of each: where mixes end, later chunks are smaller). None
/// starts at the last byte of a page: QEMU's virtio-iommu looks up [iova, iova + 1]
/// with both ends included (virtio_iommu_translate(), seen in 7.2 and on master),
/// so that at the last byte of a mapping it may take the next one's address.
const std::vector<std::uint64_t> kOffsets = {0,
                                             8192 - 1024,
                                             2 * 65536 - 1024,
                                             kMiB - 2,
                                             2 * kMiB - 1024,
                                             6 * kMiB - 7,
                                             9 * kMiB - 1024,
                                             kBytes - kTransfer};

class EveryMix : public VfioTest, public testing::WithParamInterface<NamedMix> {};

TEST_P(EveryMix, DeviceAndCpuSeeTheSameBytes) {
  EduSession& edu = open();
  const Fd buffer = allocate(kBytes, GetParam().steps, PAGEMIX_LAYOUT_SCATTERED);
  ASSERT_TRUE(buffer) << std::strerror(errno);
  const Map cpu(buffer.get(), kBytes);
  ASSERT_TRUE(cpu);
  const std::span<std::byte> bytes(cpu.as<std::byte>(), kBytes);
  vfio::MappedMemory staging(-1, 4096, 0, PROT_READ | PROT_WRITE, "staging page");

  Mapping heap(edu.space, edu.iovas, bytes, Access::read_write, edu.engine.max_iova());
  Mapping page(edu.space, edu.iovas, staging.bytes(), Access::read_write, edu.engine.max_iova());
  const std::uint64_t leaf = vfio::iommu::leaf_alignment(edu.space.page_sizes(), kBytes);
  EXPECT_EQ(heap.iova() % leaf, 0U);

  fill(bytes, 0);
  // From the buffer: the device reads there and shows it in the staging page.
  for (const std::uint64_t offset : kOffsets) {
    std::memset(staging.data(), 0, staging.size());
    edu.engine.copy(heap.iova() + offset, page.iova(), kTransfer);
    EXPECT_TRUE(std::equal(staging.data(), staging.data() + kTransfer, bytes.data() + offset))
        << "device reads at " << offset;
  }
  // Into the buffer: it must hold the new bytes there and the old ones elsewhere.
  std::vector<std::byte> expected(bytes.begin(), bytes.end());
  for (std::size_t i = 0; i < kOffsets.size(); ++i) {
    fill(staging.bytes(), i + 1);
    edu.engine.copy(page.iova(), heap.iova() + kOffsets[i], kTransfer);
    std::copy_n(staging.data(), kTransfer, expected.begin() + static_cast<long>(kOffsets[i]));
  }
  const auto [found, wanted] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
  EXPECT_TRUE(found == bytes.end()) << "device writes: wrong byte at " << found - bytes.begin();

  page.unmap();
  heap.unmap();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << "after unmap";
}

INSTANTIATE_TEST_SUITE_P(Mixes, EveryMix, testing::ValuesIn(all_mixes()),
                         [](const testing::TestParamInfo<NamedMix>& mix) {
                           std::string name = mix.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class VfioSmoke : public VfioTest {
 protected:
  /// One anonymous page mapped for the device.
  struct Page {
    explicit Page(EduSession& edu)
        : memory(-1, 4096, 0, PROT_READ | PROT_WRITE, "test page"),
          mapping(edu.space, edu.iovas, memory.bytes(), Access::read_write, edu.engine.max_iova()) {
    }
    vfio::MappedMemory memory;
    Mapping mapping;
  };
};

TEST_F(VfioSmoke, UnmappedMemoryIsOutOfReach) {
  EduSession& edu = open();
  // The SMMU reports a refused access as an event, which rightly fails a guest
  // run; virtio-iommu reports it as an informational message.
  if (edu.info.iommu_driver != "virtio_iommu")
    skip("a refused access is a kernel error message with " + edu.info.iommu_driver);
  if (IsSkipped()) return;
  Page source(edu);
  Page target(edu);
  fill(source.memory.bytes(), 1);
  fill(target.memory.bytes(), 2);
  const std::uint64_t iova = target.mapping.iova();
  target.mapping.unmap();
  edu.engine.copy(source.mapping.iova(), iova, kTransfer);
  EXPECT_EQ(first_difference(target.memory.bytes(), 2), 4096U) << "written after unmap";
}

TEST_F(VfioSmoke, WithoutBusMasteringNothingMoves) {
  EduSession& edu = open();
  Page source(edu);
  Page target(edu);
  fill(source.memory.bytes(), 1);
  fill(target.memory.bytes(), 2);
  edu.device.disable_bus_master();
  edu.engine.copy(source.mapping.iova(), target.mapping.iova(), kTransfer);
  EXPECT_EQ(first_difference(target.memory.bytes(), 2), 4096U);
  edu.device.enable_bus_master();
  edu.engine.copy(source.mapping.iova(), target.mapping.iova(), kTransfer);
  EXPECT_EQ(first_difference(target.memory.bytes().first(kTransfer), 1), kTransfer);
}

TEST_F(VfioSmoke, ATransferInFlightIsAwaited) {
  EduSession& edu = open();
  Page page(edu);
  edu.engine.start_read(page.mapping.iova(), 64);
  expect_error(EBUSY, "a transfer is in flight",
               [&] { edu.engine.start_write(page.mapping.iova(), 64); });
  edu.engine.wait();
  EXPECT_NO_THROW(edu.engine.write_memory(page.mapping.iova(), 64));
}

TEST_F(VfioSmoke, ConfigSpaceAndRegionsAreTheDevices) {
  EduSession& edu = open();
  EXPECT_EQ(edu.device.read_config<std::uint16_t>(0), vfio::edu::vendor_id);
  EXPECT_EQ(edu.device.read_config<std::uint16_t>(2), vfio::edu::device_id);
  EXPECT_EQ(edu.device.read_config<std::uint32_t>(0), 0x11e81234U);
  const auto line = edu.device.read_config<std::uint8_t>(0x3c);  // interrupt line: scratch
  edu.device.write_config<std::uint8_t>(0x3c, static_cast<std::uint8_t>(line ^ 0x5a));
  EXPECT_EQ(edu.device.read_config<std::uint8_t>(0x3c), line ^ 0x5a);
  const vfio::pci::Region bar = edu.device.region(0);
  EXPECT_EQ(bar.bytes, kMiB);
  EXPECT_TRUE(bar.readable && bar.writable && bar.mappable);
}

TEST_F(VfioSmoke, ResetsWhereThePlatformCan) {
  EduSession& edu = open();
  if (edu.device.can_reset()) {
    edu.device.reset();
    edu.device.enable_bus_master();
    Page page(edu);
    EXPECT_NO_THROW(edu.engine.read_memory(page.mapping.iova(), 64));
  } else {
    expect_error(ENOTSUP, "no way to reset this function alone", [&] { edu.device.reset(); });
  }
}

TEST_F(VfioSmoke, TheOldDriverComesBack) {
  ASSERT_EQ(bind_driver(bdf.text(), "pagemix"), 0);
  EXPECT_EQ(vfio::pci::read_device(bdf).driver, "pagemix");
  {
    const vfio::pci::Binding binding(bdf, "vfio-pci");
    EXPECT_EQ(vfio::pci::read_device(bdf).driver, "vfio-pci");
  }
  EXPECT_EQ(vfio::pci::read_device(bdf).driver, "pagemix");
  EXPECT_EQ(vfio::pci::read_device(bdf).driver_override, "pagemix");
  ASSERT_EQ(bind_driver(bdf.text(), ""), 0);
}

TEST_F(VfioSmoke, ACrashIsUndoneByTheNextStart) {
  ASSERT_EQ(bind_driver(bdf.text(), "pagemix"), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const EduSession edu(bdf);
    _exit(0);  // no destructor runs
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(vfio::pci::read_device(bdf).driver, "vfio-pci");
  const auto report = vfio::pci::restore_stale_bindings();
  ASSERT_EQ(report.size(), 1U);
  std::printf("  %s\n", report[0].c_str());
  EXPECT_EQ(vfio::pci::read_device(bdf).driver, "pagemix");
  EXPECT_TRUE(vfio::pci::restore_stale_bindings().empty());
  ASSERT_EQ(bind_driver(bdf.text(), ""), 0);
}

}  // namespace
}  // namespace pagemix::test
