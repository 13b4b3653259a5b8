// SPDX-License-Identifier: Apache-2.0
// Under QEMU -icount shift=0 one tick of the CPU's counter and one nanosecond of
// CLOCK_MONOTONIC_RAW are one guest instruction. Judged by a loop whose
// instructions can be counted by hand: two an iteration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace pagemix::test {
namespace {

constexpr std::uint64_t kIterations = 1'000'000;
constexpr double kInstructions = 2.0 * kIterations;

void loop() {
  std::uint64_t left = kIterations;
#if defined(__aarch64__)
  asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(left) : : "cc");
#elif defined(__x86_64__)
  asm volatile("1: dec %0\n jnz 1b" : "+r"(left) : : "cc");
#else
#error "count the instructions of a loop here"
#endif
}

std::uint64_t counter() {
#if defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("isb\n mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
#else
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("lfence\n rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return std::uint64_t{high} << 32 | low;
#endif
}

std::uint64_t raw_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// The least of some tries: a timer's interrupt adds to a loop, nothing takes away.
template <typename Read>
double cost_of_loop(Read read) {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t begin = read();
    loop();
    least = std::min(least, read() - begin);
  }
  return static_cast<double>(least);
}

// Reading a clock twice takes some instructions itself: 0.1 % is 2,000.
TEST(InstructionClock, ATickOfTheCounterIsAnInstruction) {
  const double ticks = cost_of_loop(counter);
  std::printf("counter: %.0f ticks for %.0f instructions\n", ticks, kInstructions);
  EXPECT_NEAR(ticks / kInstructions, 1.0, 0.001);
}

TEST(InstructionClock, ANanosecondOfMonotonicRawIsAnInstruction) {
  const double ns = cost_of_loop(raw_ns);
  std::printf("CLOCK_MONOTONIC_RAW: %.0f ns for %.0f instructions\n", ns, kInstructions);
  EXPECT_NEAR(ns / kInstructions, 1.0, 0.001);
}

}  // namespace
}  // namespace pagemix::test
