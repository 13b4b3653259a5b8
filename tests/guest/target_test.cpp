// SPDX-License-Identifier: Apache-2.0
// The target node: what it reports, what a run writes, how a run ends early,
// and every wrong argument with its errno. Needs QEMU's edu device.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <thread>

#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

const pagemix_step kOrder0 = {0, PAGEMIX_GFP_LOW};
constexpr std::uint64_t kCapacity = 64;

void set_op(pagemix_target_run& args, const char* op) {
  std::memset(args.op, 0, sizeof(args.op));
  std::strncpy(args.op, op, sizeof(args.op) - 1);
}

pagemix_target_run run_args(const char* op, int fd, std::uint32_t repetitions = 8) {
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  set_op(args, op);
  args.fd = fd;
  args.repetitions = repetitions;
  return args;
}

int make_ring(int node, std::uint64_t capacity, std::uint64_t* bytes = nullptr) {
  pagemix_target_ring args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.capacity = capacity;
  const int err = call(node, PAGEMIX_IOC_TARGET_RING, &args);
  if (bytes) *bytes = args.bytes;
  return err;
}

class Target : public testing::Test {
 protected:
  void SetUp() override {
    bdf_ = edu_device();
    if (bdf_.empty()) GTEST_SKIP() << "no edu device (1234:11e8) in this machine";
    ASSERT_EQ(0, bind_driver(bdf_, "pagemix"));
    node_ = open_node();
    ASSERT_TRUE(node_) << std::strerror(errno);
    buffer_ = allocate(10 * kMiB, {kOrder0}, PAGEMIX_LAYOUT_SCATTERED);
    ASSERT_TRUE(buffer_) << std::strerror(errno);
  }
  void TearDown() override {
    node_.reset();
    buffer_.reset();
    if (!bdf_.empty()) {
      EXPECT_EQ(0, bind_driver(bdf_, ""));
    }
    EXPECT_EQ(0, module_refcount("pagemix"));
  }

  Fd open_node() const { return Fd(open(("/dev/pagemix/" + bdf_).c_str(), O_RDWR | O_CLOEXEC)); }

  std::string bdf_;
  Fd node_;
  Fd buffer_;
};

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
  for (const char* name : {"nop", "map_sgtable", "unmap_sgtable"})
    EXPECT_NE(names.end(), std::find(names.begin(), names.end(), name)) << name;
}

TEST_F(Target, RunFillsExactlyItsSamples) {
  std::uint64_t bytes = 0;
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity, &bytes));
  Map ring(node_.get(), bytes);
  ASSERT_TRUE(ring) << std::strerror(errno);
  auto* samples = ring.as<pagemix_sample>();
  for (const char* op : {"nop", "map_sgtable", "unmap_sgtable"}) {
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
      EXPECT_EQ(1U, run.nr_mapped) << "an IOMMU makes one DMA segment of the buffer";
    }
  }
}

// A cold repetition maps where nothing was mapped before in the run.
TEST_F(Target, ColdRunsUseAFreshRangeEachTime) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  pagemix_target_run warm = run_args("map_sgtable", buffer_.get(), 8);
  ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &warm));
  for (const char* op : {"map_sgtable", "unmap_sgtable"}) {
    pagemix_target_run one = run_args(op, buffer_.get(), 1);
    one.flags = PAGEMIX_RUN_COLD;
    ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &one));
    pagemix_target_run eight = run_args(op, buffer_.get(), 8);
    eight.flags = PAGEMIX_RUN_COLD;
    ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &eight));
    // Seven ranges of at least 10 MiB lie between the first and the last.
    const std::uint64_t distance =
        one.iova > eight.iova ? one.iova - eight.iova : eight.iova - one.iova;
    EXPECT_GE(distance, 7 * 10 * kMiB) << op;
  }
  pagemix_target_run again = run_args("map_sgtable", buffer_.get(), 8);
  ASSERT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &again));
  EXPECT_EQ(warm.iova, again.iova) << "cold runs must give their ranges back";
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

TEST_F(Target, UnbindEndsARunWithEnodev) {
  ASSERT_EQ(0, make_ring(node_.get(), PAGEMIX_MAX_SAMPLES));
  pagemix_target_run run = run_args("map_sgtable", buffer_.get(), PAGEMIX_MAX_SAMPLES);
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
      pagemix_target_run run = run_args("map_sgtable", buffer.get(), PAGEMIX_MAX_SAMPLES);
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
      {"run_unknown_flag", EINVAL, run_with([](auto& r) { r.flags = 2; })},
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
