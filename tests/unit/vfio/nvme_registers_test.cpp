// SPDX-License-Identifier: Apache-2.0
// Registers backed by memory, which a thread plays the controller on; and the
// structures and texts that are decoded.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/memory.hpp"
#include "pagemix/vfio/nvme/identify.hpp"
#include "pagemix/vfio/nvme/registers.hpp"
#include "pagemix/vfio/nvme/status.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint64_t kCap = 0x00, kVs = 0x08, kCc = 0x14, kCsts = 0x1c, kAqa = 0x24, kAsq = 0x28,
                        kAcq = 0x30, kCrto = 0x68;
// MQES 2047, CQR, TO 1 (500 ms), DSTRD 1 (8 bytes), NVM command set, pages of 4 KiB to 64 KiB.
constexpr std::uint64_t kQemuLike = 0x07ff | 1U << 16 | 1U << 24 | std::uint64_t{1} << 32 |
                                    std::uint64_t{1} << 37 | std::uint64_t{4} << 52;

class NvmeRegisters : public testing::Test {
 protected:
  NvmeRegisters() {
    // Two mappings: the test's own outlives that of the object under test.
    const UniqueFd file(memfd_create("registers", MFD_CLOEXEC));
    if (ftruncate(file.get(), 8192) < 0) throw std::runtime_error("ftruncate of a memfd failed");
    memory = MappedMemory(file.get(), 8192, 0, PROT_READ | PROT_WRITE, "registers");
    base = memory.data();
    bar = std::make_unique<pci::Bar>(
        MappedMemory(file.get(), 8192, 0, PROT_READ | PROT_WRITE, "registers"), "BAR 0");
    set64(kCap, kQemuLike);
    set32(kVs, 0x10400);
  }
  ~NvmeRegisters() override {
    stop = true;
    if (device.joinable()) device.join();
  }
  volatile std::uint32_t& reg(std::uint64_t offset) {
    return *reinterpret_cast<volatile std::uint32_t*>(base + offset);
  }
  void set32(std::uint64_t offset, std::uint32_t value) { reg(offset) = value; }
  void set64(std::uint64_t offset, std::uint64_t value) {
    std::memcpy(base + offset, &value, sizeof value);
  }
  std::uint64_t get64(std::uint64_t offset) {
    std::uint64_t value;
    std::memcpy(&value, base + offset, sizeof value);
    return value;
  }
  Registers make() { return Registers(std::move(*bar), "nvme test"); }
  /// CSTS as a function of CC, until the end of the test.
  void play(std::function<std::uint32_t(std::uint32_t)> status) {
    device = std::thread([this, status = std::move(status)] {
      while (!stop) reg(kCsts) = status(reg(kCc));
    });
  }
  static void expect(int errnum, const std::string& part, const std::function<void()>& action) {
    try {
      action();
      ADD_FAILURE() << "no error, expected " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.errnum(), errnum) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  MappedMemory memory;
  std::byte* base = nullptr;
  std::unique_ptr<pci::Bar> bar;
  std::thread device;
  std::atomic<bool> stop = false;
};

TEST_F(NvmeRegisters, CapabilitiesInUnits) {
  const Capabilities caps = make().capabilities();
  EXPECT_EQ(caps.max_queue_entries, 2048U);
  EXPECT_EQ(caps.min_page_bytes, 4096U);
  EXPECT_EQ(caps.max_page_bytes, 65536U);
  EXPECT_EQ(caps.doorbell_stride, 8U);
  EXPECT_EQ(caps.ready_timeout.count(), 500);
  EXPECT_EQ(caps.version, 0x10400U);
}

TEST_F(NvmeRegisters, TheLongerTimeoutOfCrtoCounts) {
  set64(kCap, kQemuLike | std::uint64_t{1} << 59);
  set32(kCrto, 0x0000012c);
  EXPECT_EQ(make().capabilities().ready_timeout.count(), 150000);
}

TEST_F(NvmeRegisters, NoTimeoutIsOneUnit) {
  set64(kCap, kQemuLike & ~(std::uint64_t{0xff} << 24));
  EXPECT_EQ(make().capabilities().ready_timeout.count(), 500);
}

TEST_F(NvmeRegisters, DoorbellsFollowTheStride) {
  Registers registers = make();
  *registers.submission_doorbell(0) = 17;
  EXPECT_EQ(reg(0x1000), 17U);
  *registers.completion_doorbell(3) = 18;
  EXPECT_EQ(reg(0x1000 + 7 * 8), 18U);
  expect(ERANGE, "the BAR has 8192 bytes", [&] { registers.submission_doorbell(256); });
}

TEST_F(NvmeRegisters, ADeviceThatIsGoneIsSaid) {
  std::memset(base, 0xff, 8192);
  expect(ENODEV, "the device is gone", [&] { make(); });
}

TEST_F(NvmeRegisters, NoNvmCommandSetIsSaid) {
  set64(kCap, kQemuLike & ~(std::uint64_t{1} << 37));
  expect(ENOTSUP, "no NVM command set", [&] { make(); });
}

TEST_F(NvmeRegisters, EnableAndDisable) {
  Registers registers = make();
  play([](std::uint32_t cc) { return cc & 1; });
  registers.enable(8192, 8, 0x123456789000, 0x123456790000);
  EXPECT_EQ(reg(kCc), 1U | 1U << 7 | 6U << 16 | 4U << 20);  // EN, MPS 1, entries of 64 and 16
  EXPECT_EQ(reg(kAqa), 7U << 16 | 7);
  EXPECT_EQ(get64(kAsq), 0x123456789000U);
  EXPECT_EQ(get64(kAcq), 0x123456790000U);
  registers.disable();
  EXPECT_EQ(reg(kCc), 0U);
}

TEST_F(NvmeRegisters, ANeverReadyControllerIsSaidAfterItsOwnTimeout) {
  Registers registers = make();
  expect(ETIMEDOUT, "enable nvme test: ETIMEDOUT: CSTS still reads 0x0 after 500 ms",
         [&] { registers.enable(4096, 8, 0x1000, 0x2000); });
  set32(kCsts, 1);
  expect(ETIMEDOUT, "reset nvme test: ETIMEDOUT: CSTS still reads 0x1",
         [&] { registers.disable(); });
}

TEST_F(NvmeRegisters, FatalStatusIsSaidAndCanBeReset) {
  Registers registers = make();
  play([](std::uint32_t cc) { return (cc & 1) != 0 ? 2U : 0U; });
  expect(EIO, "controller fatal status (CSTS reads 0x2)",
         [&] { registers.enable(4096, 8, 0x1000, 0x2000); });
  registers.disable();
}

TEST_F(NvmeRegisters, RemovalWhileWaitingIsSaid) {
  Registers registers = make();
  play([](std::uint32_t cc) { return (cc & 1) != 0 ? 0xffffffffU : 0U; });
  expect(ENODEV, "the device is gone", [&] { registers.enable(4096, 8, 0x1000, 0x2000); });
}

TEST_F(NvmeRegisters, ShutDownWaitsForIts) {
  Registers registers = make();
  play([](std::uint32_t cc) { return (cc & 1) | ((cc >> 14 & 3) != 0 ? 2U << 2 : 0U); });
  registers.enable(4096, 8, 0x1000, 0x2000);
  registers.shut_down(std::chrono::seconds(1));
  EXPECT_EQ(reg(kCc) >> 14 & 3, 1U);
}

TEST(NvmeStatus, Texts) {
  EXPECT_TRUE(Status{0}.ok());
  EXPECT_TRUE(Status{0x2000}.ok()) << "more information is no failure";
  EXPECT_EQ(Status{0x0002}.text(), "Invalid Field in Command (type 0 generic, code 0x2)");
  EXPECT_EQ(Status{0x4285}.text(), "Compare Failure (type 2 media, code 0x85, do not retry)");
  EXPECT_TRUE(Status{0x4285}.compare_failed());
  EXPECT_FALSE(Status{0x0085}.compare_failed());
  EXPECT_EQ(Status{0x0101}.text(), "Invalid Queue Identifier (type 1 command specific, code 0x1)");
  EXPECT_EQ(Status{0x07c3}.text(), "unknown status (type 7 vendor specific, code 0xc3)");
}

class NvmeIdentify : public testing::Test {
 protected:
  std::vector<std::byte> data = std::vector<std::byte>(identify_bytes);
  void put(std::size_t offset, std::uint64_t value, std::size_t width) {
    std::memcpy(data.data() + offset, &value, width);
  }
};

TEST_F(NvmeIdentify, Controller) {
  std::memcpy(data.data() + 4, "serial              ", 20);
  std::memcpy(data.data() + 24, "QEMU NVMe Ctrl                          ", 40);
  put(77, 7, 1);      // MDTS
  put(512, 0x66, 1);  // SQES
  put(513, 0x44, 1);  // CQES
  put(520, 0x015d, 2);
  const ControllerIdentity id = parse_controller(data);
  EXPECT_EQ(id.serial, "serial");
  EXPECT_EQ(id.model, "QEMU NVMe Ctrl");
  EXPECT_EQ(id.firmware, "");
  EXPECT_EQ(id.mdts, 7);
  EXPECT_TRUE(id.compare);
  put(520, 0x015c, 2);
  EXPECT_FALSE(parse_controller(data).compare);
  put(512, 0x77, 1);
  EXPECT_THROW(parse_controller(data), Error);
}

TEST_F(NvmeIdentify, NamespaceFormats) {
  put(0, 1000, 8);
  put(25, 1, 1);               // two formats
  put(26, 1, 1);               // the second
  put(128, 9U << 16, 4);       // 512
  put(132, 12U << 16 | 8, 4);  // 4096 and 8 bytes of metadata
  Namespace ns = parse_namespace(3, data);
  EXPECT_EQ(ns.nsid, 3U);
  EXPECT_EQ(ns.blocks, 1000U);
  EXPECT_EQ(ns.block_bytes, 4096U);
  EXPECT_EQ(ns.unusable(), "its LBA format has 8 bytes of metadata a block");
  put(26, 0, 1);
  ns = parse_namespace(3, data);
  EXPECT_EQ(ns.block_bytes, 512U);
  EXPECT_EQ(ns.unusable(), "");
  put(29, 1, 1);
  EXPECT_EQ(parse_namespace(3, data).unusable(), "its end-to-end protection is on");
  put(26, 5, 1);
  EXPECT_THROW(parse_namespace(3, data), Error) << "format 5 of 2";
  put(26, 0, 1);
  put(128, 8U << 16, 4);
  EXPECT_THROW(parse_namespace(3, data), Error) << "256-byte blocks";
}

TEST_F(NvmeIdentify, NamespaceList) {
  put(0, 2, 4);
  put(4, 5, 4);
  EXPECT_EQ(parse_namespace_list(data), (std::vector<std::uint32_t>{2, 5}));
  put(8, 5, 4);
  EXPECT_THROW(parse_namespace_list(data), Error);
  EXPECT_THROW(parse_namespace_list(std::span(data).first(100)), Error);
}

}  // namespace
}  // namespace pagemix::vfio::nvme
