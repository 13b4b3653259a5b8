// SPDX-License-Identifier: Apache-2.0
// A program written for dma-heaps works on /dev/dma_heap/pagemix unchanged: it
// knows <linux/dma-heap.h> and <linux/dma-buf.h> and nothing of pagemix. Covers
// what the kernel's dmabuf-heaps selftest covers: allocation, mapping, CPU
// access brackets, import by a DRM driver, zeroed memory, and errors.
#include <gtest/gtest.h>
#include <linux/dma-buf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

constexpr std::size_t kBytes = 4 * kMiB;

int heap_alloc(int heap, std::size_t bytes, unsigned fd_flags, Fd* out) {
  dma_heap_allocation_data args{};
  args.len = bytes;
  args.fd_flags = fd_flags;
  const int err = call(heap, DMA_HEAP_IOCTL_ALLOC, &args);
  if (!err) *out = Fd(static_cast<int>(args.fd));
  return err;
}

int sync(int fd, std::uint64_t flags) {
  dma_buf_sync args{};
  args.flags = flags;
  return call(fd, DMA_BUF_IOCTL_SYNC, &args);
}

class DmaHeapProgram : public testing::Test {
 protected:
  void SetUp() override {
    heap_ = Fd(open(kHeapNode, O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(heap_) << std::strerror(errno);
    ASSERT_EQ(0, heap_alloc(heap_.get(), kBytes, O_RDWR | O_CLOEXEC, &buffer_));
  }

  Fd heap_;
  Fd buffer_;
};

TEST_F(DmaHeapProgram, SeesTheHeapAmongTheOthers) {
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/dma_heap/pagemix"));
}

TEST_F(DmaHeapProgram, WritesAndReadsBackBetweenCpuAccessCalls) {
  Map map(buffer_.get(), kBytes);
  ASSERT_TRUE(map) << std::strerror(errno);
  ASSERT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START));
  auto* words = map.as<std::uint32_t>();
  for (std::size_t i = 0; i < kBytes / 4; i++)
    words[i] = static_cast<std::uint32_t>(i * 2654435761U);
  ASSERT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END));

  // A second mapping shows the same memory.
  Map again(buffer_.get(), kBytes, PROT_READ);
  ASSERT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_READ | DMA_BUF_SYNC_START));
  for (std::size_t i = 0; i < kBytes / 4; i++)
    ASSERT_EQ(static_cast<std::uint32_t>(i * 2654435761U), again.as<std::uint32_t>()[i]) << i;
  EXPECT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_READ | DMA_BUF_SYNC_END));
}

TEST_F(DmaHeapProgram, MapsAPartAtAnOffset) {
  Map whole(buffer_.get(), kBytes);
  whole.as<char>()[3 * kMiB + 5] = 'x';
  void* part = mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, buffer_.get(), 3 * kMiB);
  ASSERT_NE(MAP_FAILED, part) << std::strerror(errno);
  EXPECT_EQ('x', static_cast<char*>(part)[5]);
  munmap(part, kMiB);
}

TEST_F(DmaHeapProgram, SizeIsTheBuffers) {
  EXPECT_EQ(static_cast<off_t>(kBytes), lseek(buffer_.get(), 0, SEEK_END));
  Fd odd;
  ASSERT_EQ(0, heap_alloc(heap_.get(), 4097, O_RDWR | O_CLOEXEC, &odd));
  EXPECT_EQ(8192, lseek(odd.get(), 0, SEEK_END));
}

TEST_F(DmaHeapProgram, OutlivesTheHeapDescriptorAndTheBufferDescriptor) {
  heap_.reset();
  Map map(buffer_.get(), kBytes);
  buffer_.reset();
  map.as<char>()[kBytes - 1] = 7;
  EXPECT_EQ(7, map.as<char>()[kBytes - 1]);
}

// The second allocation gets the pages that the first has dirtied.
TEST_F(DmaHeapProgram, MemoryIsZeroedEachTime) {
  for (int round = 0; round < 4; round++) {
    std::vector<Fd> buffers(16);
    for (Fd& buffer : buffers) {
      ASSERT_EQ(0, heap_alloc(heap_.get(), kBytes, O_RDWR | O_CLOEXEC, &buffer));
      Map map(buffer.get(), kBytes);
      const auto* words = map.as<std::uint64_t>();
      ASSERT_EQ(words + kBytes / 8,
                std::find_if(words, words + kBytes / 8, [](std::uint64_t w) { return w != 0; }));
      std::memset(map.as<void>(), 0xff, kBytes);
    }
  }
}

TEST_F(DmaHeapProgram, DescriptorFlagsAreObeyed) {
  EXPECT_EQ(FD_CLOEXEC, fcntl(buffer_.get(), F_GETFD) & FD_CLOEXEC);
  Fd plain;
  ASSERT_EQ(0, heap_alloc(heap_.get(), kBytes, O_RDWR, &plain));
  EXPECT_EQ(0, fcntl(plain.get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(DmaHeapProgram, WrongArgumentsAreRefused) {
  Fd unused;
  EXPECT_EQ(EINVAL, heap_alloc(heap_.get(), 0, O_RDWR | O_CLOEXEC, &unused));
  EXPECT_EQ(EINVAL, heap_alloc(heap_.get(), kBytes, 0xff, &unused));
  EXPECT_EQ(EBADF, heap_alloc(-1, kBytes, O_RDWR | O_CLOEXEC, &unused));
  EXPECT_EQ(ENOTTY, heap_alloc(buffer_.get(), kBytes, O_RDWR | O_CLOEXEC, &unused));
  EXPECT_EQ(EINVAL, sync(buffer_.get(), ~0ULL));
}

// vgem imports a dma-buf by attaching and mapping it for its platform device.
class VgemImport : public DmaHeapProgram {
 protected:
  void SetUp() override {
    DmaHeapProgram::SetUp();
    card_ = vgem_card();
    if (!card_) GTEST_SKIP() << "no vgem device: load the kernel's vgem module";
  }

  Fd card_;
};

TEST_F(VgemImport, BracketsReachAnImporterAndTheHandleKeepsTheBuffer) {
  Import import(card_.get(), buffer_.get());
  ASSERT_TRUE(import);
  {
    Map map(buffer_.get(), kBytes);
    EXPECT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_WRITE | DMA_BUF_SYNC_START));
    std::memset(map.as<void>(), 0xaa, kBytes);
    EXPECT_EQ(0, sync(buffer_.get(), DMA_BUF_SYNC_WRITE | DMA_BUF_SYNC_END));
  }
  buffer_.reset();
  heap_.reset();
  EXPECT_EQ(1, module_refcount("pagemix")) << "the importer must hold the exporter";

  Fd exported = export_handle(card_.get(), import.handle());
  ASSERT_TRUE(exported);
  Map map(exported.get(), kBytes, PROT_READ);
  EXPECT_EQ(0xaa, map.as<unsigned char>()[kBytes - 1]);
}

}  // namespace
}  // namespace pagemix::test
