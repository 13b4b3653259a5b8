// SPDX-License-Identifier: Apache-2.0
// What only iommufd has: memfds as buffers, shmem and hugetlb of every size that
// the kernel offers, and mapping without huge pages. QEMU's edu device reads and
// writes through each mapping. Needs a kernel with IOMMUFD and VFIO's nodes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "support/kernel.hpp"
#include "vfio_fixture.hpp"

namespace pagemix::test {
namespace {

using vfio::iommu::Access;
using vfio::iommu::HugePages;
using vfio::iommu::Iommufd;

constexpr std::uint64_t kIova = std::uint64_t{4} << 30;

/// Bytes of the huge pages that the kernel offers: 0 stands for shmem.
std::vector<std::uint64_t> page_sizes_of_memfds() {
  std::vector<std::uint64_t> sizes = {0};
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", none)) {
    const std::string name = entry.path().filename();  // hugepages-2048kB
    sizes.push_back(std::stoull(name.substr(name.find('-') + 1)) << 10);
  }
  return sizes;
}

std::string pool_file(std::uint64_t page_bytes) {
  return "/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_bytes >> 10) +
         "kB/nr_hugepages";
}

/// One more huge page in the pool, given back at the end.
class PoolPage {
 public:
  explicit PoolPage(std::uint64_t page_bytes) : file_(pool_file(page_bytes)) {
    before_ = read_line(file_);
    write_text(file_, std::to_string(std::stoull(before_) + 1));
    made_ = read_line(file_) != before_;
  }
  ~PoolPage() { write_text(file_, before_); }
  bool made() const { return made_; }

 private:
  std::string file_;
  std::string before_;
  bool made_ = false;
};

Fd memfd_of(std::uint64_t page_bytes, std::uint64_t bytes) {
  unsigned flags = MFD_CLOEXEC;
  if (page_bytes != 0)
    flags |= MFD_HUGETLB | static_cast<unsigned>(std::countr_zero(page_bytes)) << MFD_HUGE_SHIFT;
  Fd fd(memfd_create("pagemix-test", flags));
  if (fd && ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fd.reset();
  return fd;
}

class IommufdTest : public VfioTest {
 protected:
  void SetUp() override {
    VfioTest::SetUp();
    if (const std::string why = vfio::iommu::backend_missing("iommufd"); !why.empty()) skip(why);
  }
};

/// The edu device in an IOAS.
struct IommufdSession {
  explicit IommufdSession(const vfio::pci::Bdf& bdf, HugePages huge_pages = HugePages::on)
      : binding(bdf, "vfio-pci"),
        info(vfio::pci::read_device(bdf)),
        space(info, huge_pages),
        device(space, info),
        engine(device, ~std::uint64_t{0}) {}
  vfio::pci::Binding binding;
  vfio::pci::DeviceInfo info;
  Iommufd space;
  vfio::pci::Device device;
  vfio::edu::Engine engine;
};

TEST_F(IommufdTest, AMemfdOfEachPageSizeIsUsedByTheDevice) {
  IommufdSession edu(bdf);
  unsigned used = 0;
  for (const std::uint64_t page_bytes : page_sizes_of_memfds()) {
    const std::uint64_t bytes = page_bytes != 0 ? page_bytes : 64 * 1024;
    const std::string name = page_bytes == 0 ? "shmem" : "hugetlb " + std::to_string(page_bytes);
    SCOPED_TRACE(name);
    std::optional<PoolPage> pool;
    if (page_bytes != 0) {
      pool.emplace(page_bytes);
      if (!pool->made()) {
        std::printf("skipped: %s: no memory for a page in the pool\n", name.c_str());
        continue;
      }
    }
    const Fd file = memfd_of(page_bytes, bytes);
    ASSERT_TRUE(file) << std::strerror(errno);
    edu.space.map_file(file.get(), 0, bytes, kIova, Access::read_write);
    // Mapped for the CPU after the IOMMU: the file's own pages were pinned.
    const vfio::MappedMemory memory(file.get(), bytes, 0, PROT_READ | PROT_WRITE, name);
    std::memset(memory.data(), 0x5a, 16);
    edu.engine.start_read(kIova, 16);
    edu.engine.wait();
    edu.engine.start_write(kIova + bytes - 16, 16);
    edu.engine.wait();
    EXPECT_EQ(std::memcmp(memory.data(), memory.data() + bytes - 16, 16), 0);
    edu.space.unmap(kIova, bytes);
    std::printf("used: %s\n", name.c_str());
    ++used;
  }
  EXPECT_GE(used, 2U) << "shmem and at least one size of huge pages";
}

TEST_F(IommufdTest, OtherFilesAreNamed) {
  IommufdSession edu(bdf);
  const Fd file = memfd_of(0, 8192);
  const auto map = [&](int fd, std::uint64_t offset, std::uint64_t bytes) {
    return [&edu, fd, offset, bytes] {
      edu.space.map_file(fd, offset, bytes, kIova, Access::read_write);
    };
  };
  expect_error(EBADF, "not a descriptor of a memfd", map(-1, 0, 4096));
  expect_error(EINVAL, "no multiple of the granule", map(file.get(), 0, 100));
  EXPECT_NO_THROW(map(file.get(), 4096, 4096)());
  edu.space.unmap(kIova, 4096);
}

TEST_F(IommufdTest, WithoutHugePagesEachPageIsAskedForAlone) {
  IommufdSession edu(bdf, HugePages::off);
  EXPECT_TRUE(edu.space.rules().map_by_page);
  EXPECT_GT(edu.space.rules().runs_per_unmap, 1U);
  const vfio::MappedMemory memory(-1, kMiB, 0, PROT_READ | PROT_WRITE, "buffer");
  edu.space.map(memory.bytes(), kIova, Access::read_write);
  std::memset(memory.data(), 0xa5, 16);
  edu.engine.start_read(kIova, 16);
  edu.engine.wait();
  edu.engine.start_write(kIova + kMiB - 16, 16);
  edu.engine.wait();
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kMiB - 16, 16), 0);
  edu.space.unmap(kIova, kMiB);
}

TEST_F(IommufdTest, TellsWhatType1Tells) {
  vfio::pci::Binding binding(bdf, "vfio-pci");
  const auto info = vfio::pci::read_device(bdf);
  std::vector<vfio::iommu::IovaRange> ranges;
  std::uint64_t sizes = 0;
  {
    const Iommufd space(info);
    ranges.assign(space.iova_ranges().begin(), space.iova_ranges().end());
    sizes = space.page_sizes();
  }
  EXPECT_NE(sizes, 0U);
  EXPECT_FALSE(ranges.empty());
  if (!vfio::iommu::backend_missing("type1").empty()) return;
  const vfio::iommu::Type1Container container(info);
  EXPECT_EQ(sizes, container.page_sizes());
  EXPECT_EQ(ranges, std::vector(container.iova_ranges().begin(), container.iova_ranges().end()));
}

}  // namespace
}  // namespace pagemix::test
