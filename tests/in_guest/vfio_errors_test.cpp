// SPDX-License-Identifier: Apache-2.0
// What the kernel refuses, and that the message names the reason: ranges,
// alignment, limits, memory, devices. Each error is made for real, on the backend
// that PAGEMIX_BACKEND names; where iommufd's errno is another, it stands beside.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/kernel.hpp"
#include "vfio_fixture.hpp"

namespace pagemix::test {
namespace {

using vfio::iommu::Access;
using vfio::iommu::Mapping;
using vfio::pci::Bdf;

constexpr std::uint64_t kIova = 4 * kMiB;
constexpr char kEntryLimit[] = "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit";

vfio::MappedMemory anonymous(std::uint64_t bytes, int prot = PROT_READ | PROT_WRITE) {
  return vfio::MappedMemory(-1, bytes, 0, prot, "test memory");
}

/// The page of [vvar], null where it is no PFNMAP mapping.
const std::byte* pfnmap_vvar() {
  std::ifstream smaps("/proc/self/smaps");
  std::uint64_t vvar = 0;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find("[vvar]") != std::string::npos) vvar = std::stoull(line, nullptr, 16);
    if (vvar != 0 && line.rfind("VmFlags:", 0) == 0)
      return (line + ' ').find(" pf ") == std::string::npos
                 ? nullptr
                 : reinterpret_cast<const std::byte*>(vvar);
  }
  return nullptr;
}

/// Effective capability CAP_IPC_LOCK, taken away for a while.
class WithoutIpcLock {
 public:
  WithoutIpcLock() {
    head_.version = _LINUX_CAPABILITY_VERSION_3;
    syscall(SYS_capget, &head_, saved_);
    __user_cap_data_struct reduced[2] = {saved_[0], saved_[1]};
    reduced[0].effective &= ~(1U << CAP_IPC_LOCK);
    done_ = syscall(SYS_capset, &head_, reduced) == 0;
  }
  ~WithoutIpcLock() { syscall(SYS_capset, &head_, saved_); }
  bool done() const { return done_; }

 private:
  __user_cap_header_struct head_{};
  __user_cap_data_struct saved_[2]{};
  bool done_ = false;
};

class VfioErrors : public VfioTest {
 protected:
  /// The errno of type1, or iommufd's for the same.
  static int either(int type1, int iommufd) { return backend() == "type1" ? type1 : iommufd; }
};

TEST_F(VfioErrors, AReservedRangeIsNamed) {
  EduSession& edu = open();
  const auto ranges = edu.space.iova_ranges();
  ASSERT_GE(ranges.size(), 2U) << "expected the MSI window between two ranges";
  const auto memory = anonymous(8192);
  const std::uint64_t hole = ranges[0].last + 1;
  const std::string name =
      "reserved range " + to_string(vfio::iommu::IovaRange{hole, ranges[1].first - 1});
  for (const std::uint64_t iova : {hole, hole - 4096, ranges[1].first - 4096})
    expect_error(EINVAL, name, [&] { edu.space.map(memory.bytes(), iova, Access::read_write); });
  EXPECT_EQ(edu.space.try_map(memory.bytes(), hole, Access::read), -EINVAL);
}

TEST_F(VfioErrors, AlignmentIsNamed) {
  EduSession& edu = open();
  const auto memory = anonymous(8192);
  const auto map = [&](std::span<std::byte> bytes, std::uint64_t iova) {
    return [&edu, bytes, iova] { edu.space.map(bytes, iova, Access::read_write); };
  };
  expect_error(EINVAL, "the IOVA is no multiple", map(memory.bytes().first(4096), kIova + 512));
  expect_error(EINVAL, "the size is no multiple", map(memory.bytes().first(100), kIova));
  expect_error(EINVAL, "is not aligned", map(memory.bytes().subspan(64, 4096), kIova));
  expect_error(EINVAL, "0 bytes", map(memory.bytes().first(0), kIova));
  // EINVAL of type1 became EOVERFLOW, as iommufd's is.
  constexpr std::uint64_t kTop = ~std::uint64_t{0xfff};
  const int beyond = -edu.space.try_map(memory.bytes(), kTop, Access::read_write);
  EXPECT_TRUE(beyond == EOVERFLOW || beyond == either(EINVAL, EOVERFLOW)) << beyond;
  expect_error(beyond, "64-bit address space", map(memory.bytes(), kTop));
}

TEST_F(VfioErrors, UnmapChecksTheSize) {
  EduSession& edu = open();
  const auto memory = anonymous(16384);
  const auto unmap = [&](std::uint64_t iova, std::uint64_t bytes) {
    return [&edu, iova, bytes] { edu.space.unmap(iova, bytes); };
  };
  edu.space.map(memory.bytes(), kIova, Access::read_write);
  expect_error(EEXIST, "overlaps",
               [&] { edu.space.map(memory.bytes(), kIova + 4096, Access::read_write); });
  expect_error(either(EINVAL, ENOENT), "cut a mapping in two", unmap(kIova, 4096));
  expect_error(either(EINVAL, ENOENT), "cut a mapping in two", unmap(kIova + 8192, 8192));
  expect_error(either(EINVAL, ENOENT), "multiples of the granule", unmap(kIova, 100));
  expect_error(EINVAL, "multiples of the granule", unmap(kIova, 0));
  expect_error(ENOENT, "nothing is mapped", unmap(kIova + kMiB, 4096));
  expect_error(EMSGSIZE, "unmapped 16384 bytes instead", unmap(kIova, 32768));
  expect_error(ENOENT, "nothing is mapped", unmap(kIova, 16384));
}

TEST_F(VfioErrors, MemoryThatCannotBePinnedIsExplained) {
  EduSession& edu = open();
  const auto map = [&](std::span<const std::byte> bytes) {
    return [&edu, bytes] { edu.space.map(bytes, kIova, Access::read_write); };
  };
  auto gone = anonymous(4096);
  const std::span<const std::byte> dangling = gone.bytes();
  gone.reset();
  expect_error(EFAULT, "no memory is mapped", map(dangling));
  const auto read_only = anonymous(4096, PROT_READ);
  expect_error(EFAULT, "is mapped read-only", map(read_only.bytes()));
}

// type1 maps the PFNMAP mapping of a BAR, not that of memory: the kernel's time page
// where a kernel has it as one. iommufd maps neither.
TEST_F(VfioErrors, APfnmapMappingCannotBePinned) {
  EduSession& edu = open();
  std::optional<vfio::pci::Bar> bar;
  const std::byte* pages = pfnmap_vvar();
  if (backend() == "iommufd") {
    bar = edu.device.map_bar(0);
    pages = reinterpret_cast<const std::byte*>(
        const_cast<const std::uint8_t*>(bar->at<std::uint8_t>(0)));
  }
  if (pages == nullptr) {
    skip("type1, and [vvar] of this kernel is no PFNMAP mapping");
    return;
  }
  expect_error(EFAULT, "is a PFNMAP mapping", [&] {
    edu.space.map({pages, 4096}, kIova, Access::read_write);
  });
}

TEST_F(VfioErrors, TheMappingLimitIsNamed) {
  if (backend() != "type1") {  // iommufd has none
    EXPECT_EQ(open().space.available_mappings(), std::nullopt);
    return;
  }
  const std::string limit = read_line(kEntryLimit);
  ASSERT_FALSE(limit.empty()) << kEntryLimit;
  ASSERT_EQ(write_text(kEntryLimit, "2"), 0);
  try {
    EduSession& edu = open();
    const auto memory = anonymous(3 * 4096);
    EXPECT_EQ(edu.space.available_mappings(), 2U);
    edu.space.map(memory.bytes().subspan(0, 4096), kIova, Access::read);
    edu.space.map(memory.bytes().subspan(4096, 4096), kIova + 4096, Access::read);
    EXPECT_EQ(edu.space.available_mappings(), 0U);
    expect_error(
        ENOSPC, "0 mappings left in this container; the limit is parameter dma_entry_limit",
        [&] { edu.space.map(memory.bytes().subspan(8192, 4096), kIova + 8192, Access::read); });
    edu.space.unmap(kIova, 8192);  // both at once
    EXPECT_EQ(edu.space.available_mappings(), 2U);
  } catch (const vfio::Error& error) {
    ADD_FAILURE() << error.what();
  }
  EXPECT_EQ(write_text(kEntryLimit, limit), 0);
}

TEST_F(VfioErrors, TheLockedMemoryLimitIsNamed) {
  EduSession& edu = open();
  const auto memory = anonymous(2 * kMiB);
  rlimit saved{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &saved), 0);
  const rlimit small{kMiB, saved.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &small), 0);
  {
    const WithoutIpcLock reduced;
    ASSERT_TRUE(reduced.done());
    expect_error(ENOMEM, "2097152 bytes needed, 0 bytes in use, RLIMIT_MEMLOCK 1048576",
                 [&] { edu.space.map(memory.bytes(), kIova, Access::read_write); });
  }
  setrlimit(RLIMIT_MEMLOCK, &saved);
  EXPECT_NO_THROW(edu.space.map(memory.bytes(), kIova, Access::read_write));
}

TEST_F(VfioErrors, WrongDevicesAreNamed) {
  expect_error(EINVAL, "allowed: domain:bus:device.function", [] { Bdf::parse("00:02"); });
  expect_error(ENODEV, "find PCI device 0000:7f:1f.7",
               [] { vfio::pci::Binding(Bdf::parse("7f:1f.7"), "vfio-pci"); });
  expect_error(ENOENT, "modprobe nosuch", [&] { vfio::pci::Binding(bdf, "nosuch"); });
  // No driver: group and device have no node.
  expect_error(ENOENT, "bound to vfio-pci",
               [&] { vfio::iommu::make_address_space(backend(), vfio::pci::read_device(bdf)); });
  // The host bridge.
  expect_error(EINVAL, "bridge", [] { vfio::pci::Binding(Bdf::parse("00:00.0"), "vfio-pci"); });
}

TEST_F(VfioErrors, ADeviceAndItsGroupHaveOneUser) {
  EduSession& edu = open();
  expect_error(EBUSY, "holds it on driver vfio-pci", [&] { vfio::pci::Binding(bdf, "pagemix"); });
  const auto again = [&] { vfio::iommu::make_address_space(backend(), edu.info); };
  if (backend() == "type1")
    expect_error(EBUSY, "another process has the IOMMU group open", again);
  else
    expect_error(EINVAL, "bound to an address space already", again);
}

TEST_F(VfioErrors, BarsAndConfigSpaceHaveBounds) {
  EduSession& edu = open();
  expect_error(EINVAL, "allowed: BAR 0..5", [&] { edu.device.map_bar(6); });
  expect_error(ENODEV, "does not implement it", [&] { edu.device.map_bar(1); });
  expect_error(ERANGE, "configuration space", [&] { edu.device.read_config<std::uint32_t>(4096); });
  expect_error(EINVAL, "multiple", [&] { edu.device.read_config<std::uint32_t>(2); });
}

TEST_F(VfioErrors, TheEngineKeepsItsLimits) {
  EduSession& edu = open();
  const std::uint64_t top = edu.engine.max_iova();
  expect_error(EINVAL, "allowed: 1..2048", [&] { edu.engine.start_read(kIova, 0); });
  expect_error(EINVAL, "allowed: 1..2048", [&] { edu.engine.start_read(kIova, 2049); });
  expect_error(ERANGE, "beyond the DMA mask", [&] { edu.engine.start_write(top + 1, 1); });
  expect_error(ERANGE, "beyond the DMA mask", [&] { edu.engine.start_write(top, 2); });
  EXPECT_NO_THROW(edu.engine.wait());
}

TEST_F(VfioErrors, ADiskInUseIsNotTaken) {
  // The disk that a guest's results go to; nothing mounts it.
  std::error_code error;
  const auto disk = std::filesystem::canonical("/sys/class/block/vda", error);
  ASSERT_FALSE(error) << "/sys/class/block/vda: " << error.message();
  std::optional<Bdf> owner;
  for (const auto& part : disk)
    if (const auto found = Bdf::try_parse(part.string())) owner = found;
  ASSERT_TRUE(owner) << disk;
  EXPECT_TRUE(vfio::pci::device_users(*owner).empty());
  const auto before = vfio::pci::read_device(*owner);

  const vfio::UniqueFd exclusive = vfio::open_file("/dev/vda", O_RDONLY | O_EXCL);
  expect_error(EBUSY, "the device is in use, nothing was changed: vda is opened exclusively",
               [&] { vfio::pci::Binding(*owner, "vfio-pci"); });
  const auto after = vfio::pci::read_device(*owner);
  EXPECT_EQ(after.driver, before.driver);
  EXPECT_EQ(after.driver_override, before.driver_override);
}

}  // namespace
}  // namespace pagemix::test
