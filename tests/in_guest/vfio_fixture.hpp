// SPDX-License-Identifier: Apache-2.0
// QEMU's edu device, taken over VFIO and given back after each test.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pagemix/vfio/vfio.hpp"
#include "support/kernel.hpp"

namespace pagemix::test {

/// Fails unless `action` throws vfio::Error with this errno and `part` in its
/// text. Prints the text (unless --gtest_brief), so that a log shows what a user
/// would read.
inline void expect_error(int errnum, const std::string& part, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error, expected " << vfio::errno_name(errnum) << ": " << part;
  } catch (const vfio::Error& error) {
    if (!GTEST_FLAG_GET(brief)) std::printf("  %s\n", error.what());
    EXPECT_EQ(error.errnum(), errnum) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << "\nexpected: " << part;
  }
}

/// The backend that the tests of VFIO run on: PAGEMIX_BACKEND, type1 without it.
inline std::string backend() {
  const char* name = std::getenv("PAGEMIX_BACKEND");
  return name != nullptr ? name : "type1";
}

/// The edu device on vfio-pci in an address space of its own.
class EduSession {
 public:
  explicit EduSession(const vfio::pci::Bdf& bdf)
      : binding_(bdf, "vfio-pci"),
        info(vfio::pci::read_device(bdf)),
        space_owner_(vfio::iommu::make_address_space(backend(), info)),
        space(*space_owner_),
        iovas(space.iova_ranges(), space.granule()),
        device(space, info),
        engine(device) {}

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
  vfio::edu::Engine engine;
};

class VfioTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string address = edu_device();
    if (address.empty()) skip("no edu device (1234:11e8); QEMU: -device edu");
    if (IsSkipped()) return;
    bdf = vfio::pci::Bdf::parse(address);
    driver_before = vfio::pci::read_device(bdf).driver;
    override_before = vfio::pci::read_device(bdf).driver_override;
  }
  void TearDown() override {
    session.reset();
    if (edu_device().empty()) return;
    const auto now = vfio::pci::read_device(bdf);
    EXPECT_EQ(now.driver, driver_before);
    EXPECT_EQ(now.driver_override, override_before);
  }
  /// Ends the test as skipped; --gtest_brief hides GTEST_SKIP's own message.
  static void skip(const std::string& reason) {
    std::printf("skipped: %s\n", reason.c_str());
    GTEST_SKIP() << reason;
  }
  /// Takes the device for the rest of the test.
  EduSession& open() {
    session = std::make_unique<EduSession>(bdf);
    return *session;
  }

  vfio::pci::Bdf bdf;
  std::optional<std::string> driver_before;
  std::optional<std::string> override_before;
  std::unique_ptr<EduSession> session;
};

}  // namespace pagemix::test
