// SPDX-License-Identifier: Apache-2.0
// Every wrong argument of the heap node and of its dma-bufs has its errno, and
// leaves no descriptor and no memory behind.
#include <gtest/gtest.h>
#include <linux/dma-buf.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

const pagemix_step kOrder0 = {0, PAGEMIX_GFP_LOW};

std::size_t open_fds() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    n++;
  return n;
}

struct BadCase {
  const char* name;
  int expected;
  std::function<int(int heap)> attempt;
};

void PrintTo(const BadCase& c, std::ostream* out) { *out << c.name; }

// PAGEMIX_IOC_ALLOC of a valid request after `change`.
std::function<int(int)> alloc_with(std::function<void(pagemix_alloc&)> change) {
  return [change](int heap) {
    pagemix_alloc args = alloc_args(64 << 10, {kOrder0});
    change(args);
    const int err = call(heap, PAGEMIX_IOC_ALLOC, &args);
    if (!err) close(args.fd);
    return err;
  };
}

std::function<int(int)> default_alloc_with(std::function<void(dma_heap_allocation_data&)> change) {
  return [change](int heap) {
    dma_heap_allocation_data args{};
    args.len = 64 << 10;
    args.fd_flags = O_RDWR | O_CLOEXEC;
    change(args);
    const int err = call(heap, DMA_HEAP_IOCTL_ALLOC, &args);
    if (!err) close(static_cast<int>(args.fd));
    return err;
  };
}

std::function<int(int)> buf_info_with(std::function<void(pagemix_buf_info&)> change) {
  return [change](int heap) {
    Fd buffer = allocate(64 << 10, {kOrder0});
    pagemix_buf_info info{};
    info.version = PAGEMIX_UAPI_VERSION;
    info.fd = buffer.get();
    change(info);
    return call(heap, PAGEMIX_IOC_BUF_INFO, &info);
  };
}

std::function<int(int)> buf_runs_with(std::function<void(pagemix_buf_runs&)> change) {
  return [change](int heap) {
    Fd buffer = allocate(64 << 10, {kOrder0});
    std::vector<pagemix_run> runs(16);
    pagemix_buf_runs args{};
    args.version = PAGEMIX_UAPI_VERSION;
    args.fd = buffer.get();
    args.runs = reinterpret_cast<std::uintptr_t>(runs.data());
    args.capacity = 16;
    change(args);
    return call(heap, PAGEMIX_IOC_BUF_RUNS, &args);
  };
}

// An ioctl with another size, direction or number than the header's.
std::function<int(int)> raw(unsigned long request) {
  return [request](int heap) {
    std::vector<char> room(4096);
    return call(heap, request, room.data());
  };
}

template <typename T>
int on_fd_of(int heap, unsigned long request, int fd) {
  T args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = fd;
  return call(heap, request, &args);
}

std::function<int(int)> on_null(unsigned long request) {
  return [request](int heap) { return call(heap, request, nullptr); };
}

// The result cannot be written back: no descriptor may stay behind.
int alloc_into_read_only_page(int heap) {
  Map page(-1, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  *page.as<pagemix_alloc>() = alloc_args(64 << 10, {kOrder0});
  if (mprotect(page.as<void>(), 4096, PROT_READ) < 0) return -1;
  return call(heap, PAGEMIX_IOC_ALLOC, page.as<void>());
}

int alloc_without_free_descriptors(int heap) {
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  rlimit none = old;
  none.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &none);
  pagemix_alloc args = alloc_args(64 << 10, {kOrder0});
  const int err = call(heap, PAGEMIX_IOC_ALLOC, &args);
  setrlimit(RLIMIT_NOFILE, &old);
  return err;
}

// In a child without privileges, on descriptors opened by root.
int runs_as_nobody(int heap) {
  Fd buffer = allocate(64 << 10, {kOrder0});
  const pid_t child = fork();
  if (!child) {
    if (setresuid(65534, 65534, 65534) < 0) _exit(255);
    _exit(on_fd_of<pagemix_buf_runs>(heap, PAGEMIX_IOC_BUF_RUNS, buffer.get()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int open_as_nobody(int) {
  const pid_t child = fork();
  if (!child) {
    if (setresuid(65534, 65534, 65534) < 0) _exit(255);
    _exit(open(kHeapNode, O_RDWR) < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int mmap_buffer(std::size_t bytes, int flags, off_t offset, int prot = PROT_READ) {
  Fd buffer = allocate(64 << 10, {kOrder0});
  void* p = mmap(nullptr, bytes, prot, flags, buffer.get(), offset);
  if (p == MAP_FAILED) return errno;
  munmap(p, bytes);
  return 0;
}

int mmap_read_only_fd_for_writing(int heap) {
  pagemix_alloc args = alloc_args(64 << 10, {kOrder0});
  args.fd_flags = O_RDONLY | O_CLOEXEC;
  if (int err = call(heap, PAGEMIX_IOC_ALLOC, &args)) return err;
  Fd buffer(args.fd);
  void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.get(), 0);
  return p == MAP_FAILED ? errno : 0;
}

int sync_with(std::uint64_t flags) {
  Fd buffer = allocate(64 << 10, {kOrder0});
  dma_buf_sync sync{};
  sync.flags = flags;
  return call(buffer.get(), DMA_BUF_IOCTL_SYNC, &sync);
}

template <typename T>
constexpr unsigned long resized(unsigned nr, int delta) {
  return _IOC(_IOC_READ | _IOC_WRITE, PAGEMIX_IOC_MAGIC, nr,
              static_cast<unsigned>(static_cast<int>(sizeof(T)) + delta));
}

std::vector<BadCase> bad_cases() {
  return {
      {"alloc_version_0", EINVAL, alloc_with([](auto& a) { a.version = 0; })},
      {"alloc_version_2", EINVAL, alloc_with([](auto& a) { a.version = 2; })},
      {"alloc_flag_bit_0", EINVAL, alloc_with([](auto& a) { a.flags = 1; })},
      {"alloc_flag_bit_31", EINVAL, alloc_with([](auto& a) { a.flags = 1U << 31; })},
      {"alloc_0_bytes", EINVAL, alloc_with([](auto& a) { a.bytes = 0; })},
      {"alloc_u64_max_bytes", EINVAL, alloc_with([](auto& a) { a.bytes = ~0ULL; })},
      {"alloc_page_align_overflow", EINVAL, alloc_with([](auto& a) { a.bytes = ~0ULL - 4095; })},
      {"alloc_s64_max_bytes", EINVAL, alloc_with([](auto& a) { a.bytes = ~0ULL >> 1; })},
      {"alloc_more_than_memory", ENOMEM, alloc_with([](auto& a) { a.bytes = 1ULL << 40; })},
      {"alloc_layout_2", EINVAL, alloc_with([](auto& a) { a.layout = 2; })},
      {"alloc_layout_max", EINVAL, alloc_with([](auto& a) { a.layout = ~0U; })},
      {"alloc_no_steps", EINVAL, alloc_with([](auto& a) { a.nsteps = 0; })},
      {"alloc_9_steps", EINVAL, alloc_with([](auto& a) { a.nsteps = 9; })},
      {"alloc_u32_max_steps", EINVAL, alloc_with([](auto& a) { a.nsteps = ~0U; })},
      {"alloc_order_11", EINVAL, alloc_with([](auto& a) { a.steps[0].order = 11; })},
      {"alloc_order_64", EINVAL, alloc_with([](auto& a) { a.steps[0].order = 64; })},
      {"alloc_order_max", EINVAL, alloc_with([](auto& a) { a.steps[0].order = ~0U; })},
      {"alloc_gfp_3", EINVAL, alloc_with([](auto& a) { a.steps[0].gfp = 3; })},
      {"alloc_gfp_max", EINVAL, alloc_with([](auto& a) { a.steps[0].gfp = ~0U; })},
      {"alloc_orders_increase", EINVAL,
       alloc_with([](auto& a) { a.steps[1].order = 4, a.nsteps = 2; })},
      {"alloc_unused_step_order", EINVAL, alloc_with([](auto& a) { a.steps[7].order = 1; })},
      {"alloc_unused_step_gfp", EINVAL, alloc_with([](auto& a) { a.steps[1].gfp = 1; })},
      {"alloc_smaller_than_chunk", EINVAL, alloc_with([](auto& a) { a.steps[0].order = 9; })},
      {"alloc_not_whole_chunks", EINVAL,
       alloc_with([](auto& a) { a.steps[0].order = 4, a.bytes = (64 << 10) + 1; })},
      {"alloc_fd_flags_nonblock", EINVAL, alloc_with([](auto& a) { a.fd_flags |= O_NONBLOCK; })},
      {"alloc_fd_flags_max", EINVAL, alloc_with([](auto& a) { a.fd_flags = ~0U; })},
      {"alloc_null", EFAULT, on_null(PAGEMIX_IOC_ALLOC)},
      {"alloc_kernel_address", EFAULT,
       [](int heap) {
         return call(heap, PAGEMIX_IOC_ALLOC, reinterpret_cast<void*>(0xffff800000000000ULL));
       }},
      {"alloc_result_not_writable", EFAULT, alloc_into_read_only_page},
      {"alloc_no_descriptors", EMFILE, alloc_without_free_descriptors},
      {"alloc_struct_too_long", ENOTTY, raw(resized<pagemix_alloc>(1, 8))},
      {"alloc_struct_too_short", ENOTTY, raw(resized<pagemix_alloc>(1, -8))},
      {"alloc_wrong_direction", ENOTTY, raw(_IOW(PAGEMIX_IOC_MAGIC, 1, pagemix_alloc))},
      {"unknown_number", ENOTTY, raw(_IO(PAGEMIX_IOC_MAGIC, 0x1f))},
      {"unknown_magic", ENOTTY, raw(_IOWR('Z', 1, pagemix_alloc))},
      {"target_call_on_heap", ENOTTY, raw(PAGEMIX_IOC_TARGET_RUN)},
      {"heap_info_version", EINVAL,
       [](int heap) {
         pagemix_heap_info info{};
         return call(heap, PAGEMIX_IOC_HEAP_INFO, &info);
       }},
      {"heap_info_null", EFAULT, on_null(PAGEMIX_IOC_HEAP_INFO)},
      {"heap_info_struct_too_long", ENOTTY, raw(resized<pagemix_heap_info>(0, 4))},
      {"buf_info_version", EINVAL, buf_info_with([](auto& i) { i.version = 7; })},
      {"buf_info_padding", EINVAL, buf_info_with([](auto& i) { i.pad = 1; })},
      {"buf_info_fd_minus_1", EBADF, buf_info_with([](auto& i) { i.fd = -1; })},
      {"buf_info_closed_fd", EBADF, buf_info_with([](auto& i) { i.fd = 4095; })},
      {"buf_info_null", EFAULT, on_null(PAGEMIX_IOC_BUF_INFO)},
      {"buf_info_of_heap_node", EINVAL,
       [](int heap) { return on_fd_of<pagemix_buf_info>(heap, PAGEMIX_IOC_BUF_INFO, heap); }},
      {"buf_info_of_memfd", EINVAL,
       [](int heap) {
         Fd memfd(memfd_create("x", MFD_CLOEXEC));
         return on_fd_of<pagemix_buf_info>(heap, PAGEMIX_IOC_BUF_INFO, memfd.get());
       }},
      {"buf_info_of_foreign_dmabuf", EINVAL,
       [](int heap) {
         Fd foreign = foreign_dmabuf(64 << 10);
         if (!foreign) return -1;
         return on_fd_of<pagemix_buf_info>(heap, PAGEMIX_IOC_BUF_INFO, foreign.get());
       }},
      {"buf_runs_version", EINVAL, buf_runs_with([](auto& r) { r.version = 0; })},
      {"buf_runs_flags", EINVAL, buf_runs_with([](auto& r) { r.flags = 1; })},
      {"buf_runs_fd_minus_1", EBADF, buf_runs_with([](auto& r) { r.fd = -1; })},
      {"buf_runs_no_room", ENOSPC, buf_runs_with([](auto& r) { r.capacity = 0; })},
      {"buf_runs_bad_array", EFAULT, buf_runs_with([](auto& r) { r.runs = 8; })},
      {"buf_runs_null", EFAULT, on_null(PAGEMIX_IOC_BUF_RUNS)},
      {"buf_runs_of_foreign_dmabuf", EINVAL,
       [](int heap) {
         Fd foreign = foreign_dmabuf(64 << 10);
         if (!foreign) return -1;
         return on_fd_of<pagemix_buf_runs>(heap, PAGEMIX_IOC_BUF_RUNS, foreign.get());
       }},
      {"buf_runs_without_privilege", EPERM, runs_as_nobody},
      {"open_without_privilege", EACCES, open_as_nobody},
      {"default_0_bytes", EINVAL, default_alloc_with([](auto& a) { a.len = 0; })},
      {"default_u64_max_bytes", EINVAL, default_alloc_with([](auto& a) { a.len = ~0ULL; })},
      {"default_more_than_memory", ENOMEM, default_alloc_with([](auto& a) { a.len = 1ULL << 40; })},
      {"default_fd_set", EINVAL, default_alloc_with([](auto& a) { a.fd = 1; })},
      {"default_heap_flags", EINVAL, default_alloc_with([](auto& a) { a.heap_flags = 1; })},
      {"default_fd_flags", EINVAL, default_alloc_with([](auto& a) { a.fd_flags = ~0U; })},
      {"default_null", EFAULT, on_null(DMA_HEAP_IOCTL_ALLOC)},
      {"mmap_private", EINVAL, [](int) { return mmap_buffer(4096, MAP_PRIVATE, 0); }},
      {"mmap_too_long", EINVAL, [](int) { return mmap_buffer(68 << 10, MAP_SHARED, 0); }},
      {"mmap_offset_at_end", EINVAL, [](int) { return mmap_buffer(4096, MAP_SHARED, 64 << 10); }},
      {"mmap_offset_far", EINVAL, [](int) { return mmap_buffer(4096, MAP_SHARED, 1LL << 60); }},
      {"mmap_write_of_read_only", EACCES, mmap_read_only_fd_for_writing},
      {"sync_no_direction", EINVAL, [](int) { return sync_with(0); }},
      {"sync_unknown_bits", EINVAL, [](int) { return sync_with(1ULL << 40); }},
  };
}

class HeapBadInput : public testing::TestWithParam<BadCase> {};

TEST_P(HeapBadInput, HasItsErrnoAndLeavesNothing) {
  Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(heap) << std::strerror(errno);
  const std::size_t fds = open_fds();
  const int got = GetParam().attempt(heap.get());
  EXPECT_EQ(GetParam().expected, got)
      << "expected " << std::strerror(GetParam().expected) << ", got " << std::strerror(got);
  EXPECT_EQ(fds, open_fds());
  heap.reset();
  EXPECT_EQ(0, module_refcount("pagemix"));
}

INSTANTIATE_TEST_SUITE_P(All, HeapBadInput, testing::ValuesIn(bad_cases()),
                         [](const auto& c) { return c.param.name; });

TEST(HeapBadInput, RepeatedFailuresLeaveMemoryFree) {
  const long before = settled_free_kib();
  for (int round = 0; round < 20; round++)
    for (const BadCase& c : bad_cases()) {
      Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
      c.attempt(heap.get());
    }
  // 20 rounds of 68 cases of 64 KiB would show as 85 MiB.
  EXPECT_GT(settled_free_kib(), before - 4096);
}

TEST(HeapBadInput, NoRoomReportsTheNumberOfRuns) {
  Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
  Fd buffer = allocate(1 * kMiB, {kOrder0}, PAGEMIX_LAYOUT_SCATTERED);
  pagemix_buf_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  info.fd = buffer.get();
  ASSERT_EQ(0, call(heap.get(), PAGEMIX_IOC_BUF_INFO, &info));
  pagemix_buf_runs args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = buffer.get();
  EXPECT_EQ(ENOSPC, call(heap.get(), PAGEMIX_IOC_BUF_RUNS, &args));
  EXPECT_EQ(info.nr_runs, args.capacity);
}

}  // namespace
}  // namespace pagemix::test
