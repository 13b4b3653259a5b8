// SPDX-License-Identifier: Apache-2.0
// Where the time of an allocation went, from event sequences worked out by hand.
#include "trace/attribution.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pagemix::bench {
namespace {

constexpr int kMe = 100;
constexpr int kKswapd = 40;
constexpr int kKcompactd = 41;

TraceEvent compaction(std::uint64_t ns, bool begin, bool sync, const char* status = "",
                      int pid = kMe) {
  return {.kind = begin ? EventKind::kCompactionBegin : EventKind::kCompactionEnd,
          .ns = ns,
          .pid = pid,
          .value = sync,
          .text = status};
}

TraceEvent reclaim(std::uint64_t ns, bool begin, std::uint64_t pages = 0) {
  return {.kind = begin ? EventKind::kReclaimBegin : EventKind::kReclaimEnd,
          .ns = ns,
          .pid = kMe,
          .value = pages};
}

TraceEvent switched(std::uint64_t ns, int from, int to, const char* name, int cpu = 0) {
  return {.kind = EventKind::kSwitch, .ns = ns, .cpu = cpu, .pid = from, .next = to, .text = name};
}

TEST(Attribution, NothingHappenedIsTheThreadsOwn) {
  const Attribution split = attribute(kMe, 1000, 3000, {});
  EXPECT_EQ(split.other_own, 2000u);
  EXPECT_EQ(split.on_cpu() + split.off_cpu(), 2000u);
}

TEST(Attribution, CompactionByModeAndStatus) {
  const std::vector<TraceEvent> events = {
      compaction(100, true, false), compaction(130, false, false, "contended"),
      compaction(200, true, true),  compaction(290, false, true, "success"),
      compaction(300, true, false), compaction(301, false, false, "contended")};
  const Attribution split = attribute(kMe, 0, 1000, events);
  EXPECT_EQ(split.compaction, 30u + 90 + 1);
  EXPECT_EQ(split.compaction_wall, split.compaction);
  EXPECT_EQ(split.compactions_async, 2u);
  EXPECT_EQ(split.compactions_sync, 1u);
  EXPECT_EQ(split.compaction_status.at("contended"), 2u);
  EXPECT_EQ(split.compaction_status.at("success"), 1u);
  EXPECT_EQ(split.other_own, 1000u - 121);
}

TEST(Attribution, ReclaimCountsItsPages) {
  const std::vector<TraceEvent> events = {reclaim(10, true), reclaim(60, false, 17),
                                          reclaim(70, true), reclaim(80, false, 22)};
  const Attribution split = attribute(kMe, 0, 100, events);
  EXPECT_EQ(split.reclaim, 60u);
  EXPECT_EQ(split.reclaims, 2u);
  EXPECT_EQ(split.reclaimed_pages, 39u);
}

TEST(Attribution, TimeOffTheCpuIsNotCompactionThoughInsideOfIt) {
  const std::vector<TraceEvent> events = {compaction(100, true, true),
                                          switched(200, kMe, kKcompactd, "kcompactd0"),
                                          switched(250, kKcompactd, kKswapd, "kswapd0"),
                                          switched(260, kKswapd, 7, "rcu_sched"),
                                          switched(280, 7, 0, "swapper/0"),
                                          switched(300, 0, kMe, "pagemix"),
                                          compaction(400, false, true, "success")};
  const Attribution split = attribute(kMe, 0, 1000, events);
  EXPECT_EQ(split.compaction, 200u);
  EXPECT_EQ(split.compaction_wall, 300u);
  EXPECT_EQ(split.kcompactd, 50u);
  EXPECT_EQ(split.kswapd, 10u);
  EXPECT_EQ(split.others, 20u);
  EXPECT_EQ(split.idle, 20u);
  EXPECT_EQ(split.switches, 1u);
  EXPECT_EQ(split.on_cpu() + split.off_cpu(), 1000u);
}

TEST(Attribution, OnlyTheCpuThatWasLeftTellsWhoTookIt) {
  const std::vector<TraceEvent> events = {
      switched(100, kMe, kKswapd, "kswapd0", 1), switched(150, 0, 9, "other", 0),
      switched(200, kKswapd, 0, "swapper/1", 1), switched(300, 9, kMe, "pagemix", 0)};
  const Attribution split = attribute(kMe, 0, 400, events);
  EXPECT_EQ(split.kswapd, 100u);
  EXPECT_EQ(split.idle, 100u);
  EXPECT_EQ(split.others, 0u);
  EXPECT_EQ(split.other_own, 200u);
}

TEST(Attribution, InterruptsAreNobodysCompactionAndMayHitOneAnother) {
  const auto interrupt = [](std::uint64_t ns, bool begin, int pid = kMe) {
    return TraceEvent{.kind = begin ? EventKind::kInterruptBegin : EventKind::kInterruptEnd,
                      .ns = ns,
                      .pid = pid};
  };
  const std::vector<TraceEvent> events = {interrupt(5, false),  // began before the window
                                          interrupt(10, true),
                                          interrupt(20, false),
                                          compaction(100, true, false),
                                          interrupt(110, true),
                                          interrupt(130, true),
                                          interrupt(140, false),
                                          interrupt(150, false),
                                          compaction(200, false, false, "success"),
                                          switched(300, kMe, kKswapd, "kswapd0"),
                                          interrupt(310, true, kKswapd),
                                          interrupt(320, false, kKswapd),
                                          switched(400, kKswapd, kMe, "pagemix")};
  const Attribution split = attribute(kMe, 0, 1000, events);
  EXPECT_EQ(split.interrupts, 10u + 40);
  EXPECT_EQ(split.compaction, 60u);
  EXPECT_EQ(split.kswapd, 100u) << "an interrupt of kswapd is kswapd's";
  EXPECT_EQ(split.on_cpu() + split.off_cpu(), 1000u);
}

TEST(Attribution, OtherThreadsWorkIsNotOurs) {
  const std::vector<TraceEvent> events = {compaction(100, true, true, "", kKcompactd),
                                          compaction(200, false, true, "success", kKcompactd)};
  const Attribution split = attribute(kMe, 0, 300, events);
  EXPECT_EQ(split.compaction, 0u);
  EXPECT_EQ(split.compactions_sync, 0u);
  EXPECT_EQ(split.other_own, 300u);
}

TEST(Attribution, EventsOutsideOfTheWindowDoNotCount) {
  const std::vector<TraceEvent> events = {reclaim(10, true), reclaim(90, false, 5),  // before
                                          compaction(950, true, false),  // cut by the end
                                          reclaim(1001, true)};
  const Attribution split = attribute(kMe, 100, 1000, events);
  EXPECT_EQ(split.reclaim, 0u);
  EXPECT_EQ(split.reclaimed_pages, 0u);
  EXPECT_EQ(split.compaction, 50u);
  EXPECT_EQ(split.on_cpu(), 900u);
}

TEST(Attribution, ChunksAreThoseForAHeapByThisThread) {
  const auto page = [](unsigned order, std::uint64_t heap, int pid) {
    return TraceEvent{
        .kind = EventKind::kPageAlloc, .ns = 5, .pid = pid, .order = order, .value = heap};
  };
  const std::vector<TraceEvent> events = {page(8, 1, kMe), page(8, 1, kMe), page(0, 1, kMe),
                                          page(1, 0, kMe), page(4, 1, kKswapd)};
  const Attribution split = attribute(kMe, 0, 10, events);
  EXPECT_EQ(split.chunks[8], 2u);
  EXPECT_EQ(split.chunks[0], 1u);
  EXPECT_EQ(split.chunks[1], 0u);
  EXPECT_EQ(split.chunks[4], 0u);
}

TEST(Zeroing, IsTheTimeBetweenListAndHandOutOverThePages) {
  std::vector<TraceEvent> events;
  const auto block = [&](std::uint64_t ns, unsigned order, std::uint64_t cost) {
    events.push_back({.kind = EventKind::kPageFromBuddy, .ns = ns, .pid = kMe, .order = order});
    events.push_back(
        {.kind = EventKind::kPageAlloc, .ns = ns + cost, .pid = kMe, .order = order, .value = 1});
  };
  block(1000, 8, 256 * 300);
  block(200000, 8, 256 * 320);
  block(400000, 8, 256 * 310);
  block(600000, 0, 90000);  // too small to tell
  EXPECT_DOUBLE_EQ(zeroing_per_page(kMe, 8, events), 310);
  EXPECT_DOUBLE_EQ(zeroing_per_page(kKswapd, 8, events), 0);
}

TEST(Zeroing, ABlockThatWasInterruptedDoesNotCount) {
  const std::vector<TraceEvent> events = {
      {.kind = EventKind::kPageFromBuddy, .ns = 10, .pid = kMe, .order = 8},
      switched(20, kMe, kKswapd, "kswapd0"),
      switched(90000, kKswapd, kMe, "pagemix"),
      {.kind = EventKind::kPageAlloc, .ns = 100000, .pid = kMe, .order = 8, .value = 1}};
  EXPECT_DOUBLE_EQ(zeroing_per_page(kMe, 8, events), 0);
}

}  // namespace
}  // namespace pagemix::bench
