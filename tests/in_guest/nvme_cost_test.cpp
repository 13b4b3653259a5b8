// SPDX-License-Identifier: Apache-2.0
// Guest instructions of submitting and reaping a command, at most 250 at depth
// 32. Under -icount one nanosecond of the guest's clock is one instruction. The
// device works between the two timed stretches, never in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "nvme_fixture.hpp"

namespace pagemix::test {
namespace {

constexpr std::uint32_t kDepth = 32;
constexpr double kAllowed = 250;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// What two calls of now() in a row cost.
std::int64_t overhead() {
  std::vector<std::int64_t> values;
  for (int i = 0; i < 101; ++i) {
    const std::int64_t begin = now();
    values.push_back(now() - begin);
  }
  return median(values);
}

#if defined(__aarch64__)
/// `count` times two instructions.
void spin(std::uint64_t count) { asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(count)::"cc"); }

TEST(NvmeClock, OneNanosecondIsOneInstruction) {
  // Other work of the guest can only add to it, and is not there every time.
  std::vector<std::int64_t> spent;
  for (int i = 0; i < 11; ++i) {
    const std::int64_t begin = now();
    spin(100000);
    spent.push_back(now() - begin - overhead());
  }
  EXPECT_NEAR(static_cast<double>(median(spent)), 200000, 20000)
      << "run it with pagemix-guest --clock instructions, the default";
}
#endif

class NvmeCost : public NvmeTest {};

TEST_F(NvmeCost, SubmitAndReap) {
  NvmeSession& nvme = open();
  nvme::Controller& controller = nvme.controller;
  const nvme::Namespace& ns = controller.find_namespace();
  for (const std::uint64_t bytes : {std::uint64_t{512}, std::uint64_t{4096}}) {
    const auto blocks = static_cast<std::uint32_t>(bytes / ns.block_bytes);
    nvme::IoQueue& queue =
        controller.make_queue(ns, {.depth = kDepth, .max_transfer_bytes = 128 * 1024});
    DmaBuffer buffer(nvme, kDepth * 4096);
    std::vector<std::int64_t> submits;
    std::vector<std::int64_t> reaps;
    for (std::uint64_t round = 0; round < 101; ++round) {
      std::int64_t begin = now();
      for (std::uint64_t i = 0; i < kDepth; ++i)
        queue.prepare_read((round * 77 + i) * blocks, blocks, buffer.mapping.iova() + i * 4096, i);
      queue.ring();
      submits.push_back(now() - begin);
      ASSERT_EQ(queue.outstanding(), kDepth);

      for (int i = 0; queue.ready() < kDepth && i < 10000; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));

      nvme::Completion completions[kDepth];
      begin = now();
      const unsigned count = queue.poll(completions);
      reaps.push_back(now() - begin);
      ASSERT_EQ(count, kDepth) << "the device did not finish";
      for (const nvme::Completion& completion : completions) ASSERT_TRUE(completion.status.ok());
    }
    const double submit = static_cast<double>(median(submits) - overhead()) / kDepth;
    const double reap = static_cast<double>(median(reaps) - overhead()) / kDepth;
    std::printf(
        "guest instructions a command of %llu bytes at depth %u: submit %.1f, reap %.1f, "
        "together %.1f (allowed %.0f)\n",
        static_cast<unsigned long long>(bytes), kDepth, submit, reap, submit + reap, kAllowed);
    EXPECT_GT(submit, 10) << "nothing was measured";
    EXPECT_LE(submit + reap, kAllowed);
    controller.remove_queue(queue);
  }
}

}  // namespace
}  // namespace pagemix::test
