// SPDX-License-Identifier: Apache-2.0
// The target node: what it reports, what a run writes, how a run ends early,
// and every wrong argument with its errno. Needs QEMU's edu device.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "target_fixture.hpp"

namespace pagemix::test {
namespace {

// Of 10 MiB in pages: 100 KiB each, less than half of a guest of 1 GiB; seconds.
constexpr std::uint32_t kManyColdMaps = 4000;

TEST_F(Target, InfoDescribesTheDomain) {
  pagemix_target_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_INFO, &info));
  EXPECT_EQ(PAGEMIX_DOMAIN_STRICT, info.domain);
  EXPECT_EQ(4096U, info.granule);
  EXPECT_TRUE(info.pgsize_bitmap & 4096U);
  EXPECT_TRUE(info.pgsize_bitmap & (2 * kMiB));
  EXPECT_EQ(~0ULL, info.dma_mask);
  EXPECT_GE(info.counter_hz, 1000000U);
  EXPECT_GE(info.counter_step, 1U);
  EXPECT_GE(info.sample_overhead, 1U);
  EXPECT_EQ(read_line("/sys/module/pagemix/version"), info.module_version);
}

TEST_F(Target, NamesEveryOperationOnce) {
  pagemix_target_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_INFO, &info));
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < info.nr_ops; i++) {
    pagemix_target_op op{};
    op.version = PAGEMIX_UAPI_VERSION;
    op.index = i;
    ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_OP, &op));
    for (const std::string& name : names) EXPECT_NE(name, op.name);
    names.emplace_back(op.name);
  }
  for (const char* name : {"nop", "map_sgtable", "unmap_sgtable", "attach_map", "map_page",
                           "map_single", "unmap_page", "iommu_map", "iommu_map_sg", "iommu_unmap"})
    EXPECT_NE(names.end(), std::find(names.begin(), names.end(), name)) << name;
}

TEST_F(Target, RunFillsExactlyItsSamples) {
  std::uint64_t bytes = 0;
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity, &bytes));
  Map ring(node_.get(), bytes);
  ASSERT_TRUE(ring) << std::strerror(errno);
  auto* samples = ring.as<pagemix_sample>();
  pagemix_buf_info buffer{};
  buffer.version = PAGEMIX_UAPI_VERSION;
  buffer.fd = buffer_.get();
  const Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
  ASSERT_EQ(0, call(heap.get(), PAGEMIX_IOC_BUF_INFO, &buffer));
  std::uint64_t chunks = 0;
  for (const std::uint64_t count : buffer.chunks) chunks += count;
  for (const char* op : {"nop", "map_sgtable", "unmap_sgtable", "attach_map", "map_page",
                         "map_single", "unmap_page", "iommu_map", "iommu_map_sg", "iommu_unmap",
                         // The DMA API has its domain back.
                         "map_sgtable"}) {
    std::memset(ring.as<void>(), 0, bytes);
    const bool nop = !std::strcmp(op, "nop");
    pagemix_target_run run = run_args(op, nop ? -1 : buffer_.get(), 8);
    run.warmup = 2;
    ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run)) << op;
    EXPECT_EQ(8U, run.completed);
    for (int i = 0; i < 8; i++) {
      EXPECT_LT(samples[i].begin, samples[i].end) << op << i;
      if (i) {
        EXPECT_LE(samples[i - 1].end, samples[i].begin) << op << i;
      }
    }
    EXPECT_EQ(0U, samples[8].begin) << "nothing behind the last sample";
    if (!nop) {
      EXPECT_NE(0U, run.iova);
      const std::string name(op);
      if (name.ends_with("_page") || name == "map_single")
        EXPECT_EQ(chunks, run.nr_mapped) << op;
      else if (name.starts_with("iommu_"))
        EXPECT_EQ(buffer.nr_runs, run.nr_mapped) << op;
      else
        EXPECT_EQ(1U, run.nr_mapped) << op << ": an IOMMU makes one DMA segment of the buffer";
    }
  }
}

// A cold repetition maps where nothing was mapped before in the run. Chunks of 2 MiB:
// the kernel keeps the addresses of small ones for the next caller.
TEST_F(Target, ColdRunsUseAFreshRangeEachTime) {
  buffer_ = allocate(10 * kMiB, {{9, PAGEMIX_GFP_LOW}});
  ASSERT_TRUE(buffer_) << std::strerror(errno);
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  const auto first_address = [&](const char* op, std::uint32_t repetitions, bool cold) {
    pagemix_target_run run = run_args(op, buffer_.get(), repetitions);
    run.flags = cold ? PAGEMIX_RUN_COLD : 0;
    EXPECT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run)) << op;
    return run.iova;
  };
  const std::uint64_t warm = first_address("map_sgtable", 8, false);
  // Seven ranges of at least 10 MiB lie between the first and the last.
  for (const char* op :
       {"map_sgtable", "unmap_sgtable", "map_page", "map_single", "iommu_map", "iommu_map_sg"}) {
    const std::uint64_t one = first_address(op, 1, true);
    const std::uint64_t eight = first_address(op, 8, true);
    EXPECT_GE(one > eight ? one - eight : eight - one, 7 * 10 * kMiB) << op;
  }
  EXPECT_EQ(warm, first_address("map_sgtable", 8, false)) << "cold runs must give ranges back";
}

TEST_F(Target, SignalEndsARunAndKeepsWhatIsMeasured) {
  ASSERT_EQ(0, make_ring(node_.get(), PAGEMIX_MAX_SAMPLES));
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  pagemix_target_run run = run_args("map_sgtable", buffer_.get(), PAGEMIX_MAX_SAMPLES);
  ualarm(200000, 0);
  EXPECT_EQ(EINTR, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run));
  EXPECT_GT(run.completed, 0U);
  EXPECT_LT(run.completed, PAGEMIX_MAX_SAMPLES);
}

// A million tables and ranges of 2560 pages: 100 GiB.
TEST_F(Target, ColdRunPastMemoryIsRefused) {
  ASSERT_EQ(0, make_ring(node_.get(), PAGEMIX_MAX_SAMPLES));
  for (const char* op : {"map_sgtable", "unmap_sgtable", "map_page", "iommu_map_sg"}) {
    pagemix_target_run run = run_args(op, buffer_.get(), PAGEMIX_MAX_SAMPLES);
    run.flags = PAGEMIX_RUN_COLD;
    EXPECT_EQ(ENOMEM, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run)) << op;
    EXPECT_EQ(0U, run.completed);
  }
}

// The device can be attached to one domain at a time.
TEST_F(Target, OwnDomainExcludesOtherRuns) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  Fd other = open_node();
  ASSERT_EQ(0, make_ring(node_.get(), PAGEMIX_MAX_SAMPLES));
  ASSERT_EQ(0, make_ring(other.get(), kCapacity));
  const std::pair<const char*, const char*> pairs[] = {
      {"iommu_map_sg", "map_sgtable"}, {"map_sgtable", "iommu_map_sg"}, {"iommu_map", "nop"}};
  for (const auto& [first, second] : pairs) {
    SCOPED_TRACE(std::string(first) + " beside " + second);
    pagemix_target_run run = run_args(first, buffer_.get(), PAGEMIX_MAX_SAMPLES);
    int err = 0;
    std::thread runner([&] { err = call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pagemix_target_run beside =
        run_args(second, std::strcmp(second, "nop") ? buffer_.get() : -1, 1);
    EXPECT_EQ(EBUSY, call(other.get(), PAGEMIX_IOC_TARGET_RUN, &beside));
    pthread_kill(runner.native_handle(), SIGALRM);
    runner.join();
    EXPECT_EQ(EINTR, err);
    EXPECT_EQ(0, call(other.get(), PAGEMIX_IOC_TARGET_RUN, &beside)) << "the domain is free again";
    pagemix_target_info info{};
    info.version = PAGEMIX_UAPI_VERSION;
    EXPECT_EQ(0, call(other.get(), PAGEMIX_IOC_TARGET_INFO, &info));
    EXPECT_EQ(PAGEMIX_DOMAIN_STRICT, info.domain);
  }
}

class TargetUnbound : public Target, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Operations, TargetUnbound,
                         testing::Values("map_sgtable", "attach_map", "map_page", "iommu_map_sg"));

TEST_P(TargetUnbound, EndsARunWithEnodev) {
  ASSERT_EQ(0, make_ring(node_.get(), PAGEMIX_MAX_SAMPLES));
  pagemix_target_run run = run_args(GetParam(), buffer_.get(), PAGEMIX_MAX_SAMPLES);
  int err = 0;
  std::thread runner([&] { err = call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(0, bind_driver(bdf_, ""));
  runner.join();
  EXPECT_EQ(ENODEV, err);
  EXPECT_GT(run.completed, 0U);

  pagemix_target_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  EXPECT_EQ(ENODEV, call(node_.get(), PAGEMIX_IOC_TARGET_INFO, &info));
  EXPECT_EQ(-1, open_node().get()) << "the node must be gone";
}

TEST_F(Target, KilledRunLeavesNothingMapped) {
  const long before = settled_free_kib();
  for (int round = 0; round < 10; round++) {
    const pid_t child = fork();
    if (!child) {
      Fd node = open_node();
      Fd buffer = allocate(10 * kMiB, {kOrder0});
      make_ring(node.get(), PAGEMIX_MAX_SAMPLES);
      pagemix_target_run run = run_args("map_sgtable", buffer.get(), kManyColdMaps);
      run.flags = PAGEMIX_RUN_COLD;
      call(node.get(), PAGEMIX_IOC_TARGET_RUN, &run);
      _exit(0);
    }
    usleep(50000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_GT(settled_free_kib(), before - 8192) << "10 buffers of 10 MiB and their page tables";
}

struct BadCase {
  const char* name;
  int expected;
  std::function<int(int node, int buffer)> attempt;
};

void PrintTo(const BadCase& c, std::ostream* out) { *out << c.name; }

std::function<int(int, int)> run_with(std::function<void(pagemix_target_run&)> change) {
  return [change](int node, int buffer) {
    if (int err = make_ring(node, kCapacity)) return err;
    pagemix_target_run run = run_args("map_sgtable", buffer);
    change(run);
    return call(node, PAGEMIX_IOC_TARGET_RUN, &run);
  };
}

std::function<int(int, int)> ring_with(std::function<void(pagemix_target_ring&)> change) {
  return [change](int node, int) {
    pagemix_target_ring args{};
    args.version = PAGEMIX_UAPI_VERSION;
    args.capacity = kCapacity;
    change(args);
    return call(node, PAGEMIX_IOC_TARGET_RING, &args);
  };
}

std::function<int(int, int)> op_with(std::uint32_t version, std::uint32_t index) {
  return [=](int node, int) {
    pagemix_target_op args{};
    args.version = version;
    args.index = index;
    return call(node, PAGEMIX_IOC_TARGET_OP, &args);
  };
}

std::function<int(int, int)> null_arg(unsigned long request) {
  return [=](int node, int) { return call(node, request, nullptr); };
}

std::function<int(int, int)> mmap_ring(std::size_t bytes, int flags, off_t offset) {
  return [=](int node, int) {
    if (int err = make_ring(node, kCapacity)) return err;
    void* p = mmap(nullptr, bytes, PROT_READ, flags, node, offset);
    if (p == MAP_FAILED) return errno;
    munmap(p, bytes);
    return 0;
  };
}

int mmap_before_ring(int node, int) {
  void* p = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, node, 0);
  return p == MAP_FAILED ? errno : 0;
}

int run_on_foreign_dmabuf(int node, int) {
  Fd foreign = foreign_dmabuf(64 << 10);
  if (!foreign) return -1;
  return run_with([&](auto& r) { r.fd = foreign.get(); })(node, -1);
}

int run_without_ring(int node, int buffer) {
  pagemix_target_run run = run_args("map_sgtable", buffer);
  return call(node, PAGEMIX_IOC_TARGET_RUN, &run);
}

std::vector<BadCase> bad_cases() {
  return {
      {"info_version", EINVAL,
       [](int node, int) {
         pagemix_target_info info{};
         return call(node, PAGEMIX_IOC_TARGET_INFO, &info);
       }},
      {"info_null", EFAULT, null_arg(PAGEMIX_IOC_TARGET_INFO)},
      {"op_version", EINVAL, op_with(9, 0)},
      {"op_index_past_end", EINVAL, op_with(PAGEMIX_UAPI_VERSION, 10000)},
      {"op_index_max", EINVAL, op_with(PAGEMIX_UAPI_VERSION, ~0U)},
      {"op_null", EFAULT, null_arg(PAGEMIX_IOC_TARGET_OP)},
      {"ring_version", EINVAL, ring_with([](auto& r) { r.version = 0; })},
      {"ring_flags", EINVAL, ring_with([](auto& r) { r.flags = 1; })},
      {"ring_capacity_0", EINVAL, ring_with([](auto& r) { r.capacity = 0; })},
      {"ring_capacity_past_limit", EINVAL,
       ring_with([](auto& r) { r.capacity = PAGEMIX_MAX_SAMPLES + 1; })},
      {"ring_capacity_overflow", EINVAL, ring_with([](auto& r) { r.capacity = 1ULL << 60; })},
      {"ring_capacity_max", EINVAL, ring_with([](auto& r) { r.capacity = ~0ULL; })},
      {"ring_twice", EBUSY,
       [](int node, int) {
         if (int err = make_ring(node, kCapacity)) return err;
         return make_ring(node, kCapacity);
       }},
      {"ring_null", EFAULT, null_arg(PAGEMIX_IOC_TARGET_RING)},
      {"ring_mmap_before_it_is_made", ENXIO, mmap_before_ring},
      {"ring_mmap_private", EINVAL, mmap_ring(4096, MAP_PRIVATE, 0)},
      {"ring_mmap_offset", EINVAL, mmap_ring(4096, MAP_SHARED, 4096)},
      {"ring_mmap_too_long", EINVAL, mmap_ring(8192, MAP_SHARED, 0)},
      {"run_version", EINVAL, run_with([](auto& r) { r.version = 0; })},
      {"run_unknown_flag", EINVAL, run_with([](auto& r) { r.flags = 4, r.repetitions = 1; })},
      {"run_flag_bit_31", EINVAL, run_with([](auto& r) { r.flags = 1U << 31; })},
      {"run_empty_op", EOPNOTSUPP, run_with([](auto& r) { set_op(r, ""); })},
      {"run_unknown_op", EOPNOTSUPP, run_with([](auto& r) { set_op(r, "fly"); })},
      {"run_op_not_terminated", EINVAL, run_with([](auto& r) { std::memset(r.op, 'a', 32); })},
      {"run_op_junk_behind_name", EINVAL,
       run_with([](auto& r) { r.op[31] = 'x', r.op[20] = 'y'; })},
      {"run_direction_3", EINVAL, run_with([](auto& r) { r.direction = 3; })},
      {"run_direction_max", EINVAL, run_with([](auto& r) { r.direction = ~0U; })},
      {"run_0_repetitions", EINVAL, run_with([](auto& r) { r.repetitions = 0; })},
      {"run_more_than_capacity", EINVAL, run_with([](auto& r) { r.repetitions = kCapacity + 1; })},
      {"run_u32_max_repetitions", EINVAL, run_with([](auto& r) { r.repetitions = ~0U; })},
      {"run_warmup_past_limit", EINVAL, run_with([](auto& r) { r.warmup = ~0U; })},
      {"run_cold_with_warmup", EINVAL,
       run_with([](auto& r) { r.flags = PAGEMIX_RUN_COLD, r.warmup = 1; })},
      {"run_parameter_it_does_not_take", EINVAL, run_with([](auto& r) { r.params[0] = 1; })},
      {"run_last_parameter", EINVAL,
       run_with([](auto& r) { r.params[PAGEMIX_RUN_PARAMS - 1] = 1; })},
      {"run_hold_twice", EINVAL,
       run_with([](auto& r) { r.flags = PAGEMIX_RUN_HOLD, r.repetitions = 2; })},
      {"run_hold_with_warmup", EINVAL,
       run_with([](auto& r) { r.flags = PAGEMIX_RUN_HOLD, r.repetitions = r.warmup = 1; })},
      {"run_hold_cold", EINVAL,
       run_with([](auto& r) { r.flags = PAGEMIX_RUN_HOLD | PAGEMIX_RUN_COLD, r.repetitions = 1; })},
      {"run_without_ring", EINVAL, run_without_ring},
      {"run_fd_minus_1", EBADF, run_with([](auto& r) { r.fd = -1; })},
      {"run_fd_closed", EBADF, run_with([](auto& r) { r.fd = 4095; })},
      {"run_on_foreign_dmabuf", EINVAL, run_on_foreign_dmabuf},
      {"run_nop_with_buffer", EINVAL, run_with([](auto& r) { set_op(r, "nop"); })},
      {"run_null", EFAULT, null_arg(PAGEMIX_IOC_TARGET_RUN)},
      {"heap_call_on_target", ENOTTY, null_arg(PAGEMIX_IOC_ALLOC)},
      {"run_struct_too_long", ENOTTY,
       null_arg(
           _IOC(_IOC_READ | _IOC_WRITE, PAGEMIX_IOC_MAGIC, 0x23, sizeof(pagemix_target_run) + 8))},
  };
}

class TargetBadInput : public Target, public testing::WithParamInterface<BadCase> {};

TEST_P(TargetBadInput, HasItsErrno) {
  const int got = GetParam().attempt(node_.get(), buffer_.get());
  EXPECT_EQ(GetParam().expected, got)
      << "expected " << std::strerror(GetParam().expected) << ", got " << std::strerror(got);
}

INSTANTIATE_TEST_SUITE_P(All, TargetBadInput, testing::ValuesIn(bad_cases()),
                         [](const auto& c) { return c.param.name; });

TEST_F(Target, NodeIsForRootOnly) {
  const pid_t child = fork();
  if (!child) {
    if (setresuid(65534, 65534, 65534) < 0) _exit(255);
    _exit(open_node() ? 0 : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(EACCES, WEXITSTATUS(status));
}

TEST(UnboundDevice, HasNoNode) {
  const std::string bdf = edu_device();
  if (bdf.empty()) GTEST_SKIP() << "no edu device (1234:11e8) in this machine";
  EXPECT_EQ(-1, open(("/dev/pagemix/" + bdf).c_str(), O_RDWR));
  EXPECT_EQ(ENOENT, errno);
}

}  // namespace
}  // namespace pagemix::test
