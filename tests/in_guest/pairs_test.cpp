// SPDX-License-Identifier: Apache-2.0
// Every operation is half of a pair. Whichever half is timed, warm, cold or held:
// flags that mean nothing to it are refused, what was done first is undone first,
// and nothing stays. Needs QEMU's edu device.
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "support/operation.hpp"
#include "target_fixture.hpp"

namespace pagemix::test {
namespace {

// First and second halves, by pair; an empty one has no name.
constexpr std::array<std::pair<const char*, const char*>, 11> kPairs = {{
    {"nop", ""},
    {"attach_map", ""},
    {"map_sgtable", "unmap_sgtable"},
    {"map_page", "unmap_page"},
    {"map_single", ""},
    {"iommu_map", ""},
    {"iommu_map_sg", "iommu_unmap"},
    {"sync_begin", "sync_end"},
    {"coherent_alloc", "coherent_free"},
    {"pool_alloc", "pool_free"},
    {"iova_link", "iova_unlink"},
}};

bool leaves_nothing(const std::string& op) { return op == "nop" || op == "attach_map"; }

bool has_cold(const std::string& op) {
  return !leaves_nothing(op) && !op.starts_with("sync_") && !op.starts_with("coherent_") &&
         op != "pool_free";
}

class Pairs : public Target {
 protected:
  void SetUp() override {
    Target::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(0, make_ring(node_.get(), kCapacity));
    pagemix_target_op op{};
    op.version = PAGEMIX_UAPI_VERSION;
    for (; !call(node_.get(), PAGEMIX_IOC_TARGET_OP, &op); op.index++)
      operations_.emplace_back(op.name);
  }

  bool offers(const std::string& op) const {
    return std::ranges::find(operations_, op) != operations_.end();
  }

  pagemix_target_run request(const std::string& op, std::uint32_t repetitions,
                             std::uint32_t flags) const {
    pagemix_target_run run = run_args("", -1, repetitions);
    set_operation(run, op, buffer_.get());
    run.flags = flags;
    return run;
  }

  /// errno of a run.
  int start(const std::string& op, std::uint32_t repetitions, std::uint32_t flags) {
    pagemix_target_run run = request(op, repetitions, flags);
    return call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run);
  }

  /// Where the last repetition of a run had the buffer.
  std::uint64_t last_address(const std::string& op, std::uint32_t repetitions,
                             std::uint32_t flags) {
    pagemix_target_run run = request(op, repetitions, flags);
    EXPECT_EQ(0, call(node_.get(), PAGEMIX_IOC_TARGET_RUN, &run)) << op;
    EXPECT_EQ(repetitions, run.completed) << op;
    return run.iova;
  }

  std::vector<std::string> operations_;
};

TEST_F(Pairs, AreAllThatTheModuleOffers) {
  for (const std::string& op : operations_)
    EXPECT_TRUE(std::ranges::any_of(
        kPairs, [&](const auto& pair) { return pair.first == op || pair.second == op; }))
        << op << " is not known to this test";
}

TEST_F(Pairs, OnlyWhatLeavesSomethingCanBeHeld) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  for (const auto& [first, second] : kPairs) {
    if (*second && offers(second)) {
      EXPECT_EQ(EINVAL, start(second, 1, PAGEMIX_RUN_HOLD)) << second;
    }
    if (!*first || !offers(first)) continue;
    if (leaves_nothing(first)) {
      EXPECT_EQ(EINVAL, start(first, 1, PAGEMIX_RUN_HOLD)) << first;
      continue;
    }
    // Again and again: a signal before the run would not end it.
    const itimerval period{{0, 100000}, {0, 100000}};
    const itimerval off{};
    setitimer(ITIMER_REAL, &period, nullptr);
    EXPECT_EQ(EINTR, start(first, 1, PAGEMIX_RUN_HOLD)) << first;
    setitimer(ITIMER_REAL, &off, nullptr);
  }
}

TEST_F(Pairs, OnlyWhatCanBeFreshIsCold) {
  for (const std::string& op : operations_)
    EXPECT_EQ(has_cold(op) ? 0 : EINVAL, start(op, 2, PAGEMIX_RUN_COLD)) << op;
}

// A range that is mapped later has another address, so the address of the last undo
// tells which one that was: the one of the last map. Chunks of 2 MiB, whose
// addresses the kernel does not keep for the next caller.
TEST_F(Pairs, ColdRunsUndoTheOldestFirst) {
  buffer_ = allocate(10 * kMiB, {{9, PAGEMIX_GFP_LOW}});
  ASSERT_TRUE(buffer_) << std::strerror(errno);
  for (const auto& [first, second] : kPairs) {
    if (!offers(second) || !has_cold(second)) continue;
    const std::uint64_t one = last_address(first, 1, PAGEMIX_RUN_COLD);
    const std::uint64_t eight = last_address(first, 8, PAGEMIX_RUN_COLD);
    EXPECT_NE(one, eight) << first;
    EXPECT_EQ(eight, last_address(second, 8, PAGEMIX_RUN_COLD)) << second;
  }
}

// What stayed would hold addresses, memory or the module (which the end looks at).
// Chunks of 1 MiB, for the same reason; the first round fills the kernel's caches.
TEST_F(Pairs, NothingStays) {
  buffer_ = allocate(10 * kMiB, {{8, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
  ASSERT_TRUE(buffer_) << std::strerror(errno);
  const auto all = [&](const std::function<void(const std::string&)>& after) {
    for (const std::string& op : operations_)
      for (const std::uint32_t flags : {0U, PAGEMIX_RUN_COLD}) {
        if (flags && !has_cold(op)) continue;
        ASSERT_EQ(0, start(op, 8, flags)) << op << " flags " << flags;
        after(op);
      }
  };
  all([](const std::string&) {});
  const std::uint64_t address = last_address("map_sgtable", 8, 0);
  const long before = settled_free_kib();
  all([&](const std::string& op) {
    EXPECT_EQ(address, last_address("map_sgtable", 8, 0)) << "after " << op;
  });
  EXPECT_GT(settled_free_kib(), before - 1024) << "the tables of a mapping take 20 KiB";
}

}  // namespace
}  // namespace pagemix::test
