// SPDX-License-Identifier: Apache-2.0
// Faults made for real: each is a clear error, and afterwards the drive works
// and its old driver has it back. Needs --target nvme-slot --module nvme,
// --expect-kernel for the IOMMU's message, and the slot's port in an IOMMU group
// of its own (pci=config_acs): VFIO takes a group whole, and the port's
// interrupts, without which nothing is plugged, would go with it. Texts of controller faults that
// QEMU cannot make are tested with registers in memory (tests/unit/vfio).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "nvme_fixture.hpp"
#include "support/host.hpp"

namespace pagemix::test {
namespace {

using namespace std::chrono_literals;

/// Tries until `condition` holds. Counts tries, not time: while a guest under
/// -icount waits for its host, its clock may run ahead by minutes.
bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

class NvmeFault : public NvmeTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(eventually([] { return find_nvme().has_value(); }));
    ASSERT_TRUE(eventually([] { return kernel_has_disk(); })) << "nvme.ko has no disk";
    NvmeTest::SetUp();
    ASSERT_EQ(driver_before, "nvme");
  }
  static bool kernel_has_disk() { return std::filesystem::is_block_file("/dev/nvme0n1"); }

  nvme::IoQueue& make_queue(std::uint32_t depth) {
    nvme::Controller& controller = session->controller;
    return controller.make_queue(controller.find_namespace(),
                                 {.depth = depth, .max_transfer_bytes = 0});
  }
  /// A read by a fresh driver, then by the kernel's: all is as it was.
  void expect_usable() {
    {
      NvmeSession& nvme = open();
      DmaBuffer buffer(nvme, 4096);
      EXPECT_TRUE(run(nvme, make_queue(1), false, 0, 1, buffer.mapping.iova()).ok());
      buffer.mapping.unmap();
      session.reset();
    }
    EXPECT_EQ(vfio::pci::read_device(bdf).driver, "nvme");
    ASSERT_TRUE(eventually([] { return kernel_has_disk(); }));
    const vfio::UniqueFd disk = vfio::open_file("/dev/nvme0n1", O_RDONLY);
    std::byte block[512];
    EXPECT_EQ(pread(disk.get(), block, sizeof block, 4096), 512);
  }
};

TEST_F(NvmeFault, ControllerFatalStatus) {
  NvmeSession& nvme = open();
  DmaBuffer buffer(nvme, 8192);
  nvme::IoQueue& queue = make_queue(4);
  queue.prepare_read(16, 8, buffer.mapping.iova());
  // Without bus mastering the controller cannot fetch the command, which is
  // fatal to it (nvme_process_sq() of QEMU).
  nvme.device.disable_bus_master();
  queue.ring();
  nvme::Completion completion;
  expect_error(EIO, "controller fatal status (CSTS read 0x", [&] {
    try {
      nvme.controller.wait(queue, {&completion, 1});
    } catch (const vfio::Error& error) {
      EXPECT_NE(std::string(error.what())
                    .find("the controller was reset; in flight: Read of 8 "
                          "blocks at LBA 16 into IOVA 0x"),
                std::string::npos)
          << error.what();
      throw;
    }
  });
  EXPECT_EQ(queue.outstanding(), 0U);
  expect_error(EIO, "stopped after an error", [&] { make_queue(1); });
  buffer.mapping.unmap();
  session.reset();
  expect_usable();
}

TEST_F(NvmeFault, CommandTimeout) {
  NvmeSession& nvme = open({.command_timeout = 100ms, .max_queues = 64});
  DmaBuffer buffer(nvme, 256 * 1024);
  nvme::IoQueue& queue = make_queue(4);
  // 1 KiB a second: the first command takes a minute, the others wait for it.
  const std::string limit =
      R"({"execute":"block_set_io_throttle","arguments":{"id":"target","bps":0,"bps_rd":1024,)"
      R"("bps_wr":0,"iops":0,"iops_rd":0,"iops_wr":0}})";
  EXPECT_EQ(qmp(limit), R"({"return": {}})");
  for (std::uint64_t i = 0; i < 4; ++i)
    queue.prepare_read(i * 128, 128, buffer.mapping.iova() + i * 65536, i);
  queue.ring();
  expect_error(ETIMEDOUT, "no completion within 100 ms", [&] {
    try {
      nvme.controller.drain(queue);
    } catch (const vfio::Error& error) {
      EXPECT_NE(std::string(error.what()).find("in flight: Read of 128 blocks at LBA 128 into"),
                std::string::npos)
          << error.what();
      throw;
    }
  });
  EXPECT_EQ(queue.outstanding(), 0U);
  const std::string no_limit =
      R"({"execute":"block_set_io_throttle","arguments":{"id":"target","bps":0,"bps_rd":0,)"
      R"("bps_wr":0,"iops":0,"iops_rd":0,"iops_wr":0}})";
  EXPECT_EQ(qmp(no_limit), R"({"return": {}})");
  buffer.mapping.unmap();
  session.reset();
  expect_usable();
}

TEST_F(NvmeFault, AnUnmappedAddressIsReportedWithItsIova) {
  NvmeSession& nvme = open();
  nvme::IoQueue& queue = make_queue(4);
  DmaBuffer buffer(nvme, 4096);
  const std::uint64_t iova = buffer.mapping.iova();
  buffer.mapping.unmap();
  // QEMU's drive reports success: it does not look at the result of its DMA.
  const nvme::Status status = run(nvme, queue, false, 0, 8, iova);
  std::printf("  status of the drive: %s\n", status.text().c_str());
  expect_error(EFAULT, "the IOMMU refused an access at IOVA " + vfio::hex(iova),
               [&] { nvme.controller.check_faults(5s); });
  EXPECT_EQ(buffer.memory.data()[0], std::byte{0});
  EXPECT_NO_THROW(nvme.controller.check_faults(200ms)) << "reported once";
  // The controller goes on.
  DmaBuffer other(nvme, 4096);
  EXPECT_TRUE(run(nvme, queue, false, 0, 8, other.mapping.iova()).ok());
  other.mapping.unmap();
  session.reset();
  expect_usable();
}

/// Reads without an end.
[[noreturn]] void read_forever(const vfio::pci::Bdf& bdf, int ready) {
  NvmeSession nvme(bdf);
  nvme::Controller& controller = nvme.controller;
  nvme::IoQueue& queue = controller.make_queue(controller.find_namespace());
  DmaBuffer buffer(nvme, 32 * 4096);
  for (std::uint64_t i = 0; i < 32; ++i)
    queue.prepare_read(i * 8, 8, buffer.mapping.iova() + i * 4096, i);
  queue.ring();
  for (std::uint64_t done = 0;;) {
    nvme::Completion completions[32];
    const unsigned count = controller.wait(queue, completions);
    for (unsigned i = 0; i < count; ++i)
      queue.prepare_read(0, 8, buffer.mapping.iova() + completions[i].tag * 4096,
                         completions[i].tag);
    queue.ring();
    const std::uint64_t before = done;
    done += count;
    if (before < 1000 && done >= 1000 && write(ready, "r", 1) != 1) _exit(3);
  }
}

TEST_F(NvmeFault, KilledInTheMiddle) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(pipe_ends[0]);
    try {
      read_forever(bdf, pipe_ends[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(2);
  }
  close(pipe_ends[1]);
  char byte = 0;
  ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1) << "the child ended before it read";
  close(pipe_ends[0]);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(vfio::pci::read_device(bdf).driver, "vfio-pci") << "nobody could restore it";

  const auto report = vfio::pci::restore_stale_bindings();
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0],
            bdf.text() + ": restored driver nvme (process " + std::to_string(child) + " is gone)");
  expect_usable();
}

TEST_F(NvmeFault, UnpluggedAndPluggedAgain) {
  NvmeSession& nvme = open();
  {
    DmaBuffer buffer(nvme, 4096);
    nvme::IoQueue& queue = make_queue(4);
    EXPECT_EQ(qmp(R"({"execute":"device_del","arguments":{"id":"target"}})"), R"({"return": {}})");
    // The slot's driver waits 5 s before it lets the device go. Reading goes on,
    // with pauses, in which the guest's clock runs faster.
    expect_error(ENODEV, "the kernel asks for the device back", [&] {
      for (unsigned reads = 1; reads < 100000; ++reads) {
        queue.prepare_read(0, 8, buffer.mapping.iova());
        nvme.controller.drain(queue);
        if (reads % 512 == 0) std::this_thread::sleep_for(500ms);
      }
    });
    expect_error(EIO, "stopped after an error", [&] { make_queue(1); });
  }
  session.reset();
  ASSERT_TRUE(eventually([] { return !find_nvme(); })) << "the kernel lets it go";
  expect_error(ENODEV, "find PCI device " + bdf.text(),
               [&] { vfio::pci::Binding(bdf, "vfio-pci"); });
  EXPECT_TRUE(vfio::pci::restore_stale_bindings().empty()) << "nothing is left behind";

  // The kernel switches the slot off a second later; then QEMU takes the device
  // out. It keeps the old backing drive (QEMU 7.2): the new device gets another.
  ASSERT_TRUE(eventually([] {
    return qmp(R"({"execute":"qom-list","arguments":{"path":"/machine/peripheral"}})")
               .find(R"("target")") == std::string::npos;
  })) << "the slot is off";
  EXPECT_EQ(qmp(R"({"execute":"blockdev-add","arguments":{"driver":"null-co","node-name":"again",)"
                R"("read-zeroes":true,"size":8589934592}})"),
            R"({"return": {}})");
  EXPECT_EQ(qmp(R"({"execute":"device_add","arguments":{"driver":"nvme","id":"plugged",)"
                R"("bus":"socket","serial":"pagemix","drive":"again"}})"),
            R"({"return": {}})");
  ASSERT_TRUE(eventually([] { return kernel_has_disk(); })) << "plugged in again";
  expect_usable();
}

}  // namespace
}  // namespace pagemix::test
