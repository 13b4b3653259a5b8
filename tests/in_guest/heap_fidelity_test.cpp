// SPDX-License-Identifier: Apache-2.0
// The heap with mix 8-4-0 does what the kernel's own system heap does: the same
// chunks, told by the kernel's trace events, at the same cost. Memory is in the
// state that the caller made (pagemix pressure), so this runs once in each.
// Needs a kernel with the system heap: Debian's for amd64 has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "machine/clock.hpp"
#include "machine/dma_heap.hpp"
#include "machine/heap_client.hpp"
#include "result/statistics.hpp"
#include "support/kernel.hpp"
#include "support/page_trace.hpp"

namespace pagemix::test {
namespace {

constexpr std::uint64_t kBytes = 10 * kMiB;
constexpr int kPairs = 16;

std::string text_of(const Orders& orders) {
  std::string text;
  for (const auto& [order, count] : orders)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(count) + " of order " + std::to_string(order);
  return text;
}

class HeapFidelity : public testing::Test {
 protected:
  // One allocation each, freed by the caller's descriptor.
  vfio::UniqueFd ours() const {
    pagemix_alloc request = request_;
    EXPECT_EQ(heap_.try_allocate(request), 0);
    return vfio::UniqueFd(request.fd);
  }
  vfio::UniqueFd kernels() const {
    int buffer = -1;
    EXPECT_EQ(system_.try_allocate(kBytes, buffer), 0);
    return vfio::UniqueFd(buffer);
  }

  Orders told_by_heap(const vfio::UniqueFd& buffer) const {
    pagemix_buf_info info{};
    info.version = PAGEMIX_UAPI_VERSION;
    info.fd = buffer.get();
    EXPECT_EQ(call(heap_.fd(), PAGEMIX_IOC_BUF_INFO, &info), 0);
    Orders orders;
    for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order)
      if (info.chunks[order] != 0) orders[order] = info.chunks[order];
    return orders;
  }

 private:
  static pagemix_alloc mix_8_4_0() {
    const auto& mixes = all_mixes();
    const auto mix = std::ranges::find_if(
        mixes, [](const NamedMix& item) { return item.name == std::string_view("8-4-0"); });
    return bench::HeapClient::request({.bytes = kBytes, .steps = mix->steps});
  }

  bench::HeapClient heap_;
  bench::DmaHeap system_{"/dev/dma_heap/system"};
  pagemix_alloc request_ = mix_8_4_0();
};

// Each allocation leaves free memory a little less fragmented when it is given
// back, whichever heap made it (seen: 10, 12, 13, 14 chunks of order 4 in a row).
// So both heaps take turns until memory has settled, and must then get the same.
TEST_F(HeapFidelity, ChunksAreTheSystemHeaps) {
  constexpr int kTurns = 96;
  constexpr int kEqualTurns = 8;  // four of each heap
  PageTrace trace;
  Orders last;
  int equal = 0;
  for (int turn = 0; turn < kTurns && equal < kEqualTurns; ++turn) {
    const bool mine = turn % 2 == 0;
    vfio::UniqueFd buffer;
    const Orders orders = trace.during([&] { buffer = mine ? ours() : kernels(); });
    if (mine) {
      EXPECT_EQ(orders, told_by_heap(buffer)) << "the heap says something else than the kernel";
    }
    std::uint64_t pages = 0;
    for (const auto& [order, count] : orders) pages += count << order;
    ASSERT_EQ(pages, kBytes / static_cast<std::uint64_t>(getpagesize()));
    equal = orders == last ? equal + 1 : 1;
    if (equal == 1)
      std::printf("turn %d, %s: %s\n", turn, mine ? "pagemix" : "system", text_of(orders).c_str());
    last = orders;
  }
  EXPECT_EQ(equal, kEqualTurns) << "the heaps get different chunks, or memory does not settle";
}

TEST_F(HeapFidelity, AnAllocationCostsWhatTheSystemHeapsDoes) {
  const auto timed = [](const std::function<vfio::UniqueFd()>& allocate) {
    const std::uint64_t begin = bench::user_now_ns();
    const vfio::UniqueFd buffer = allocate();
    return static_cast<double>(bench::user_now_ns() - begin);
  };
  std::vector<double> mine;
  std::vector<double> theirs;
  for (int pair = -1; pair < kPairs; ++pair) {
    // Interleaved, each first in half of the pairs.
    const bool first = pair % 2 == 0;
    const double a = timed([&] { return first ? ours() : kernels(); });
    const double b = timed([&] { return first ? kernels() : ours(); });
    if (pair < 0) continue;  // warms up
    mine.push_back(first ? a : b);
    theirs.push_back(first ? b : a);
  }
  const double ratio = bench::summarize(mine).median / bench::summarize(theirs).median;
  std::printf("allocation: pagemix %.0f, system %.0f, ratio %.4f\n", bench::summarize(mine).median,
              bench::summarize(theirs).median, ratio);
  EXPECT_NEAR(ratio, 1.0, 0.05);
}

TEST(PageAllocs, OnlyGrantedPagesForUserSpaceCount) {
  EXPECT_EQ(
      parse_page_allocs(
          "# tracer: nop\n"
          "a-1 [000] ..... 1.0: mm_page_alloc: page=000000001 pfn=0x40000 order=8 migratetype=0 "
          "gfp_flags=__GFP_HIGHMEM|__GFP_IO|__GFP_FS|__GFP_ZERO|__GFP_NOWARN|__GFP_NORETRY\n"
          "a-1 [000] ..... 1.0: mm_page_alloc: page=000000000 pfn=0x0 order=8 migratetype=0 "
          "gfp_flags=__GFP_HIGHMEM|__GFP_IO|__GFP_FS|__GFP_ZERO|__GFP_NOWARN|__GFP_NORETRY\n"
          "a-1 [000] ..... 1.0: mm_page_alloc: page=000000002 pfn=0x40200 order=0 migratetype=0 "
          "gfp_flags=GFP_HIGHUSER|__GFP_ZERO\n"
          "a-1 [000] ..... 1.0: mm_page_alloc: page=000000003 pfn=0x40201 order=0 migratetype=0 "
          "gfp_flags=GFP_KERNEL|__GFP_ZERO\n"
          "a-1 [000] ..... 1.0: mm_page_alloc: page=000000004 pfn=0x40202 order=0 migratetype=1 "
          "gfp_flags=GFP_HIGHUSER_MOVABLE|__GFP_ZERO\n"),
      (Orders{{0, 1}, {8, 1}}));
}

}  // namespace
}  // namespace pagemix::test
