// SPDX-License-Identifier: Apache-2.0
// What the doctor says about a module that is not loaded, from made-up folders.
#include "machine/module_missing.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace pagemix::bench {
namespace {

constexpr const char* kRelease = "6.12.95+deb12-arm64";

class Missing : public testing::Test {
 protected:
  ModuleMissing found() const { return module_missing(kRelease, root_.path()); }
  void build_folder() const { root_.write(modules() + "/build/Makefile", ""); }
  static std::string modules() { return std::string("lib/modules/") + kRelease; }
  test::TemporaryFolder root_;
};

TEST_F(Missing, WithoutAnythingThePackageIsNamed) {
  EXPECT_EQ(found().why, "module pagemix is not installed");
  EXPECT_NE(found().remedy.find("apt-get install linux-headers-6.12.95+deb12-arm64 "
                                "./pagemix-dkms_*_all.deb && modprobe pagemix"),
            std::string::npos)
      << found().remedy;
}

TEST_F(Missing, AnInstalledModuleIsLoaded) {
  root_.write(modules() + "/updates/dkms/pagemix.ko.xz", "");
  EXPECT_EQ(found().why, "module pagemix is not loaded");
  EXPECT_EQ(found().remedy, "modprobe pagemix");
}

TEST_F(Missing, AnotherKernelsModuleDoesNotCount) {
  root_.write("lib/modules/6.1.0-44-arm64/updates/dkms/pagemix.ko", "");
  EXPECT_EQ(found().why, "module pagemix is not installed");
}

TEST_F(Missing, AnUnbuiltPackageWantsTheHeaders) {
  root_.write("usr/src/pagemix-0.1.0/dkms.conf", "");
  EXPECT_EQ(found().why,
            "module pagemix is not built: pagemix-dkms needs linux-headers-6.12.95+deb12-arm64");
  EXPECT_EQ(found().remedy,
            "apt-get install linux-headers-6.12.95+deb12-arm64 && modprobe pagemix");
  build_folder();
  EXPECT_EQ(found().why, "module pagemix is not built for 6.12.95+deb12-arm64");
  EXPECT_EQ(found().remedy,
            "dkms install pagemix/0.1.0 -k 6.12.95+deb12-arm64 && modprobe pagemix");
}

TEST_F(Missing, ASourceFolderWithoutDkmsConfIsNoPackage) {
  root_.write("usr/src/pagemix-0.1.0/main.c", "");
  EXPECT_EQ(found().why, "module pagemix is not installed");
}

}  // namespace
}  // namespace pagemix::bench
