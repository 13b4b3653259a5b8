// SPDX-License-Identifier: Apache-2.0
// Operations that allocate memory for a device: what a run reports, every wrong
// parameter with its errno, and that nothing is left behind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <vector>

#include "target_fixture.hpp"

namespace pagemix::test {
namespace {

constexpr std::uint64_t kPage = 4096;  // all guests of this test have such pages

pagemix_target_run coherent(const char* op, std::uint64_t bytes, std::uint64_t attrs = 0) {
  pagemix_target_run run = run_args(op, -1);
  run.params[PAGEMIX_COHERENT_BYTES] = bytes;
  run.params[PAGEMIX_COHERENT_ATTRS] = attrs;
  return run;
}

pagemix_target_run pool(const char* op, std::uint64_t block, std::uint64_t align,
                        std::uint64_t pages, std::uint64_t order = PAGEMIX_FREE_IN_ORDER,
                        std::uint64_t seed = 0) {
  pagemix_target_run run = run_args(op, -1);
  run.params[PAGEMIX_POOL_BLOCK] = block;
  run.params[PAGEMIX_POOL_ALIGN] = align;
  run.params[PAGEMIX_POOL_PAGES] = pages;
  run.params[PAGEMIX_POOL_ORDER] = order;
  run.params[PAGEMIX_POOL_SEED] = seed;
  return run;
}

class DeviceMemory : public Target {
 protected:
  int start(pagemix_target_run& run) { return call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run); }
};

TEST_F(DeviceMemory, CoherentTakesEverySizeAndAttribute) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  for (const char* op : {"coherent_alloc", "coherent_free"})
    for (const std::uint64_t bytes : {kPage, 64 * kPage, 640 * kPage, 8192 * kPage})
      for (std::uint64_t attrs = 0; attrs < 8; ++attrs) {
        pagemix_target_run run = coherent(op, bytes, attrs);
        ASSERT_EQ(0, start(run)) << op << bytes << " attrs " << attrs;
        EXPECT_EQ(8u, run.completed);
        EXPECT_NE(0u, run.iova);
      }
}

TEST_F(DeviceMemory, APoolHasAsManyBlocksAsItsPagesHold) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  for (const char* op : {"pool_alloc", "pool_free"})
    for (const auto& [block, align, a_page] :
         std::vector<std::array<std::uint64_t, 3>>{{16, 16, 256},
                                                   {64, 64, 64},
                                                   {4096, 4096, 1},
                                                   {68, 32, 42},
                                                   {17, 1, 240},
                                                   {16, 4096, 1}})
      for (const std::uint64_t order :
           {PAGEMIX_FREE_IN_ORDER, PAGEMIX_FREE_REVERSED, PAGEMIX_FREE_RANDOM}) {
        pagemix_target_run run = pool(op, block, align, 3, order);
        run.warmup = 1;
        ASSERT_EQ(0, start(run)) << op << block << "@" << align << " order " << order;
        EXPECT_EQ(8u, run.completed);
        EXPECT_EQ(3 * a_page, run.nr_mapped) << block << "@" << align;
      }
}

TEST_F(DeviceMemory, AColdPoolIsANewOneEachTime) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  pagemix_target_run run = pool("pool_alloc", 64, 64, 100);
  run.flags = PAGEMIX_RUN_COLD;
  ASSERT_EQ(0, start(run));
  EXPECT_EQ(6400u, run.nr_mapped);
  run = pool("pool_free", 64, 64, 100);
  run.flags = PAGEMIX_RUN_COLD;
  EXPECT_EQ(EINVAL, start(run));
}

TEST_F(DeviceMemory, EndsBetweenBlocksOnASignal) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  const long before = settled_free_kib();
  for (const char* op : {"pool_alloc", "pool_free", "coherent_alloc"}) {
    const pid_t child = fork();
    if (!child) {
      Fd node = open_node();
      make_ring(node.get(), PAGEMIX_MAX_SAMPLES);
      pagemix_target_run run = !std::strcmp(op, "coherent_alloc")
                                   ? coherent(op, 32 << 20)
                                   : pool(op, 16, 16, 1000, PAGEMIX_FREE_RANDOM, 7);
      run.repetitions = PAGEMIX_MAX_SAMPLES;
      call(node.get(), PAGEMIX_IOC_TARGET_RUN, &run);
      _exit(0);
    }
    usleep(100000);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status)) << op << " ended before the signal";
  }
  EXPECT_GT(settled_free_kib(), before - 4096) << "a pool of 4 MB, an allocation of 32 MiB";
}

struct BadRun {
  const char* name;
  pagemix_target_run run;
};

void PrintTo(const BadRun& bad, std::ostream* out) { *out << bad.name; }

pagemix_target_run changed(pagemix_target_run run,
                           std::function<void(pagemix_target_run&)> change) {
  change(run);
  return run;
}

class BadDeviceMemory : public DeviceMemory, public testing::WithParamInterface<BadRun> {};

TEST_P(BadDeviceMemory, IsInvalid) {
  ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
  pagemix_target_run run = GetParam().run;
  EXPECT_EQ(EINVAL, start(run));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDeviceMemory,
    testing::Values(
        BadRun{"coherent_0", coherent("coherent_alloc", 0)},
        BadRun{"coherent_no_whole_page", coherent("coherent_alloc", kPage + 1)},
        BadRun{"coherent_too_large", coherent("coherent_free", (32 << 20) + kPage)},
        BadRun{"coherent_overflow", coherent("coherent_alloc", ~0ULL & ~(kPage - 1))},
        BadRun{"coherent_above_32_bits", coherent("coherent_alloc", (1ULL << 32) + kPage)},
        BadRun{"coherent_attr_3", coherent("coherent_alloc", kPage, 1U << 3)},
        BadRun{"coherent_attr_63", coherent("coherent_alloc", kPage, 1ULL << 63)},
        BadRun{"coherent_third_parameter",
               changed(coherent("coherent_alloc", kPage), [](auto& r) { r.params[2] = 1; })},
        BadRun{"coherent_with_buffer",
               changed(coherent("coherent_alloc", kPage), [](auto& r) { r.fd = 0; })},
        BadRun{"coherent_cold", changed(coherent("coherent_alloc", kPage),
                                        [](auto& r) { r.flags = PAGEMIX_RUN_COLD; })},
        BadRun{"pool_block_0", pool("pool_alloc", 0, 16, 1)},
        BadRun{"pool_block_15", pool("pool_alloc", 15, 1, 1)},
        BadRun{"pool_block_4097", pool("pool_alloc", 4097, 1, 1)},
        BadRun{"pool_block_overflow", pool("pool_free", ~0ULL, 16, 1)},
        BadRun{"pool_block_above_32_bits", pool("pool_free", (1ULL << 32) + 16, 16, 1)},
        BadRun{"pool_align_0", pool("pool_alloc", 16, 0, 1)},
        BadRun{"pool_align_3", pool("pool_alloc", 16, 3, 1)},
        BadRun{"pool_align_8192", pool("pool_alloc", 16, 8192, 1)},
        BadRun{"pool_align_top_bit", pool("pool_alloc", 16, 1ULL << 63, 1)},
        BadRun{"pool_pages_0", pool("pool_alloc", 16, 16, 0)},
        BadRun{"pool_pages_10001", pool("pool_alloc", 16, 16, 10001)},
        BadRun{"pool_pages_overflow", pool("pool_alloc", 16, 16, 1ULL << 63)},
        BadRun{"pool_order_3", pool("pool_alloc", 16, 16, 1, 3)},
        BadRun{"pool_order_max", pool("pool_free", 16, 16, 1, ~0ULL)},
        BadRun{"pool_seed_without_random", pool("pool_free", 16, 16, 1, PAGEMIX_FREE_REVERSED, 1)},
        BadRun{"pool_sixth_parameter",
               changed(pool("pool_free", 16, 16, 1), [](auto& r) { r.params[5] = 1; })},
        BadRun{"pool_with_buffer",
               changed(pool("pool_alloc", 16, 16, 1), [](auto& r) { r.fd = 0; })}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace pagemix::test
