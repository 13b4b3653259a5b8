// SPDX-License-Identifier: Apache-2.0
// QEMU's NVMe drive, taken over VFIO and given back after each test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "pagemix/vfio/vfio.hpp"
#include "vfio_fixture.hpp"

namespace pagemix::test {

namespace nvme = vfio::nvme;

/// The first NVMe controller of the machine.
inline std::optional<vfio::pci::Bdf> find_nvme() {
  for (const auto& device : vfio::pci::list_devices())
    if (nvme::is_nvme(device)) return device.bdf;
  return std::nullopt;
}

/// The controller on vfio-pci in a container of its own.
class NvmeSession {
 public:
  explicit NvmeSession(const vfio::pci::Bdf& bdf, const nvme::ControllerOptions& options = {})
      : binding_(bdf, "vfio-pci"),
        info(vfio::pci::read_device(bdf)),
        space_owner_(vfio::iommu::make_address_space(backend(), info)),
        space(*space_owner_),
        iovas(space.iova_ranges(), space.granule()),
        device(space, info),
        controller(space, iovas, device, options) {}

 private:
  vfio::pci::Binding binding_;  // first, so that it goes last

 public:
  vfio::pci::DeviceInfo info;

 private:
  std::unique_ptr<vfio::iommu::AddressSpace> space_owner_;

 public:
  vfio::iommu::AddressSpace& space;
  vfio::iommu::IovaAllocator iovas;
  vfio::pci::Device device;
  nvme::Controller controller;
};

/// Memory and its mapping.
struct DmaBuffer {
  DmaBuffer(NvmeSession& nvme, std::uint64_t bytes)
      : memory(-1, bytes, 0, PROT_READ | PROT_WRITE, "test buffer"),
        mapping(nvme.space, nvme.iovas, memory.bytes()) {}
  vfio::MappedMemory memory;
  vfio::iommu::Mapping mapping;
};

class NvmeTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_nvme();
    ASSERT_TRUE(found) << "no NVMe controller; pagemix-guest: --target nvme, nvme-file, nvme-slot";
    bdf = *found;
    driver_before = vfio::pci::read_device(bdf).driver;
    override_before = vfio::pci::read_device(bdf).driver_override;
  }
  void TearDown() override {
    session.reset();
    if (HasFatalFailure() || !find_nvme()) return;
    const auto now = vfio::pci::read_device(bdf);
    EXPECT_EQ(now.driver, driver_before);
    EXPECT_EQ(now.driver_override, override_before);
  }
  /// Takes the controller for the rest of the test.
  NvmeSession& open(const nvme::ControllerOptions& options = {}) {
    session = std::make_unique<NvmeSession>(bdf, options);
    return *session;
  }
  /// One command to its end; its status.
  static nvme::Status run(NvmeSession& nvme, nvme::IoQueue& queue, bool compare, std::uint64_t lba,
                          std::uint32_t blocks, std::uint64_t iova) {
    const nvme::Refusal refusal =
        compare ? queue.prepare_compare(lba, blocks, iova) : queue.prepare_read(lba, blocks, iova);
    EXPECT_EQ(refusal, nvme::Refusal::none) << to_string(refusal);
    queue.ring();
    nvme::Completion completion;
    EXPECT_EQ(nvme.controller.wait(queue, {&completion, 1}), 1U);
    return completion.status;
  }

  vfio::pci::Bdf bdf;
  std::optional<std::string> driver_before;
  std::optional<std::string> override_before;
  std::unique_ptr<NvmeSession> session;
};

}  // namespace pagemix::test
