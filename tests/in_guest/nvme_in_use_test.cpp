// SPDX-License-Identifier: Apache-2.0
// A drive that the system uses is not taken: mounted (whole, a partition, in
// another mount namespace), swap, device-mapper as LVM makes it, md. Needs
// --target nvme-file and the modules nvme, crc32c_generic, ext4, dm_mod and raid1.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/blkpg.h>
#include <linux/dm-ioctl.h>
#include <linux/major.h>
#include <linux/raid/md_p.h>
#include <linux/raid/md_u.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "nvme_fixture.hpp"

namespace pagemix::test {
namespace {

constexpr char kDisk[] = "/dev/nvme0n1";
constexpr char kPartition[] = "/dev/nvme0n1p1";
constexpr char kPlace[] = "/tmp/place";

int shell(const std::string& command) { return std::system(command.c_str()); }

class NvmeInUse : public NvmeTest {
 protected:
  void SetUp() override {
    NvmeTest::SetUp();
    if (HasFatalFailure()) return;
    ASSERT_EQ(driver_before, "nvme") << "pagemix-guest: --module nvme";
    wait_for(kDisk);
    std::filesystem::create_directories(kPlace);
  }
  static void wait_for(const char* node) {
    for (int i = 0; i < 1000 && !std::filesystem::is_block_file(node); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(std::filesystem::is_block_file(node)) << node;
  }
  /// The refusal names `use`, and nothing has changed.
  void expect_refused(const std::string& use) {
    expect_error(EBUSY, "the device is in use, nothing was changed: " + use,
                 [&] { vfio::pci::Binding(bdf, "vfio-pci"); });
    const auto now = vfio::pci::read_device(bdf);
    EXPECT_EQ(now.driver, driver_before);
    EXPECT_EQ(now.driver_override, override_before);
    EXPECT_FALSE(std::filesystem::exists("/run/pagemix/" + bdf.text() + ".binding"));
  }
  /// After the use has ended the drive can be taken, and comes back.
  void expect_free() {
    EXPECT_NO_THROW(open());
    session.reset();
    wait_for(kDisk);
  }
};

TEST_F(NvmeInUse, MountedFileSystem) {
  ASSERT_EQ(shell("mke2fs -F /dev/nvme0n1 >/dev/null"), 0);
  ASSERT_EQ(mount(kDisk, kPlace, "ext2", 0, nullptr), 0) << std::strerror(errno);
  std::ofstream(std::string(kPlace) + "/file") << "data";
  expect_refused("nvme0n1 is mounted at /tmp/place");
  // Still a working file system.
  std::ofstream(std::string(kPlace) + "/other") << "more";
  EXPECT_TRUE(std::filesystem::exists(std::string(kPlace) + "/file"));
  ASSERT_EQ(umount(kPlace), 0) << std::strerror(errno);
  expect_free();
}

TEST_F(NvmeInUse, MountedPartition) {
  {
    const vfio::UniqueFd disk = vfio::open_file(kDisk, O_RDWR);
    blkpg_partition partition{};
    partition.start = 1 << 20;
    partition.length = 8 << 20;
    partition.pno = 1;
    blkpg_ioctl_arg request{};
    request.op = BLKPG_ADD_PARTITION;
    request.datalen = sizeof partition;
    request.data = &partition;
    ASSERT_EQ(ioctl(disk.get(), BLKPG, &request), 0) << std::strerror(errno);
  }
  wait_for(kPartition);
  ASSERT_EQ(shell("mke2fs -F /dev/nvme0n1p1 >/dev/null"), 0);
  ASSERT_EQ(mount(kPartition, kPlace, "ext2", MS_RDONLY, nullptr), 0) << std::strerror(errno);
  expect_refused("nvme0n1p1 is mounted at /tmp/place");
  ASSERT_EQ(umount(kPlace), 0);
  expect_free();
}

TEST_F(NvmeInUse, MountedInAnotherNamespace) {
  ASSERT_EQ(shell("mke2fs -F /dev/nvme0n1 >/dev/null"), 0);
  int mounted[2];
  int done[2];
  ASSERT_TRUE(pipe(mounted) == 0 && pipe(done) == 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 'm';
    close(done[1]);
    const bool ok = unshare(CLONE_NEWNS) == 0 &&
                    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    mount(kDisk, kPlace, "ext2", MS_RDONLY, nullptr) == 0;
    if (ok && write(mounted[1], &byte, 1) == 1) (void)!read(done[0], &byte, 1);
    _exit(ok ? 0 : 1);
  }
  close(mounted[1]);
  char byte = 0;
  EXPECT_EQ(read(mounted[0], &byte, 1), 1) << "the child could not mount";
  expect_refused("nvme0n1 is opened exclusively");
  close(done[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(mounted[0]);
  close(done[0]);
  expect_free();
}

TEST_F(NvmeInUse, Swap) {
  ASSERT_EQ(shell("mkswap /dev/nvme0n1 >/dev/null"), 0);
  ASSERT_EQ(swapon(kDisk, 0), 0) << std::strerror(errno);
  expect_refused("nvme0n1 is swap space");
  ASSERT_EQ(swapoff(kDisk), 0) << std::strerror(errno);
  expect_free();
}

/// One ioctl of device-mapper on "pagemix_lv", with a target for table loads.
int device_mapper(unsigned long request, const std::string& parameters = "",
                  std::uint64_t sectors = 0) {
  alignas(dm_ioctl) char buffer[4096] = {};
  auto* head = reinterpret_cast<dm_ioctl*>(buffer);
  head->version[0] = DM_VERSION_MAJOR;
  head->data_size = sizeof buffer;
  head->data_start = sizeof(dm_ioctl);
  std::strcpy(head->name, "pagemix_lv");
  if (!parameters.empty()) {
    head->target_count = 1;
    auto* target = reinterpret_cast<dm_target_spec*>(buffer + sizeof(dm_ioctl));
    target->length = sectors;
    std::strcpy(target->target_type, "linear");
    std::strcpy(buffer + sizeof(dm_ioctl) + sizeof(dm_target_spec), parameters.c_str());
  }
  const vfio::UniqueFd control = vfio::open_file("/dev/mapper/control", O_RDWR);
  return ioctl(control.get(), request, buffer) == 0 ? 0 : errno;
}

TEST_F(NvmeInUse, LogicalVolume) {
  // What LVM makes of a linear volume: one device-mapper target.
  ASSERT_EQ(device_mapper(DM_DEV_CREATE), 0);
  ASSERT_EQ(device_mapper(DM_TABLE_LOAD, std::string(kDisk) + " 2048", 8192), 0);
  ASSERT_EQ(device_mapper(DM_DEV_SUSPEND), 0);  // without the suspend flag: resume
  expect_refused("nvme0n1 is held by device-mapper dm-0 (pagemix_lv)");
  ASSERT_EQ(device_mapper(DM_DEV_REMOVE), 0);
  expect_free();
}

TEST_F(NvmeInUse, MdArray) {
  struct stat disk {};
  ASSERT_EQ(stat(kDisk, &disk), 0);
  mknod("/dev/md0", S_IFBLK | 0600, makedev(MD_MAJOR, 0));
  {
    const vfio::UniqueFd md = vfio::open_file("/dev/md0", O_RDWR);
    mdu_array_info_t array{};
    array.major_version = 0;
    array.minor_version = 90;
    array.level = 1;
    array.nr_disks = 1;
    array.raid_disks = 1;
    array.not_persistent = 1;
    array.state = 1 << MD_SB_CLEAN;
    ASSERT_EQ(ioctl(md.get(), SET_ARRAY_INFO, &array), 0) << std::strerror(errno);
    mdu_disk_info_t member{};
    member.major = static_cast<int>(major(disk.st_rdev));
    member.minor = static_cast<int>(minor(disk.st_rdev));
    member.state = 1 << MD_DISK_ACTIVE | 1 << MD_DISK_SYNC;
    ASSERT_EQ(ioctl(md.get(), ADD_NEW_DISK, &member), 0) << std::strerror(errno);
    ASSERT_EQ(ioctl(md.get(), RUN_ARRAY, nullptr), 0) << std::strerror(errno);
  }
  expect_refused("nvme0n1 is held by md array md0 (raid1)");
  {
    const vfio::UniqueFd md = vfio::open_file("/dev/md0", O_RDWR);
    ASSERT_EQ(ioctl(md.get(), STOP_ARRAY, nullptr), 0) << std::strerror(errno);
  }
  expect_free();
}

}  // namespace
}  // namespace pagemix::test
