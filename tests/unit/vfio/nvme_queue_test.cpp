// SPDX-License-Identifier: Apache-2.0
// The queue against a controller made of memory: it reads the submission ring
// up to the doorbell and posts completions in any order.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "pagemix/vfio/memory.hpp"
#include "pagemix/vfio/nvme/queue.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint64_t kIova = 0x40000000;
constexpr std::uint32_t kUntouchedDoorbell = 0xffffffff;

class Rig {
 public:
  explicit Rig(std::uint32_t depth)
      : layout(IoQueue::layout({4096}, depth, 1 << 20)),
        memory(-1, layout.bytes, 0, PROT_READ | PROT_WRITE, "rings"),
        queue({.id = 1,
               .ns = {1, 1 << 20, 512, 0, false},
               .geometry = {4096},
               .depth = depth,
               .max_transfer_bytes = 1 << 20,
               .memory = memory.bytes(),
               .iova = kIova,
               .submission_doorbell = &submission_doorbell,
               .completion_doorbell = &completion_doorbell}) {}

  /// Commands that the doorbell has given to the controller.
  std::vector<SubmissionEntry> fetch() {
    std::vector<SubmissionEntry> commands;
    if (submission_doorbell == kUntouchedDoorbell) return commands;
    const auto* ring = reinterpret_cast<const SubmissionEntry*>(memory.data());
    for (; fetched_ != submission_doorbell; fetched_ = (fetched_ + 1) % layout.entries)
      commands.push_back(ring[fetched_]);
    return commands;
  }
  void complete(std::uint16_t id, std::uint16_t status = 0) {
    auto* ring = reinterpret_cast<CompletionEntry*>(memory.data() + layout.completions);
    ring[posted_].id_and_status = std::uint32_t{status} << 17 | (phase_ ? 1U : 0U) << 16 | id;
    if (++posted_ == layout.entries) {
      posted_ = 0;
      phase_ = !phase_;
    }
  }

  volatile std::uint32_t submission_doorbell = kUntouchedDoorbell;
  volatile std::uint32_t completion_doorbell = kUntouchedDoorbell;
  IoQueue::Layout layout;
  MappedMemory memory;
  IoQueue queue;

 private:
  std::uint32_t fetched_ = 0;
  std::uint32_t posted_ = 0;
  bool phase_ = true;
};

TEST(NvmeQueue, NothingIsGivenBeforeRing) {
  Rig rig(4);
  EXPECT_EQ(rig.queue.prepare_read(10, 2, 0x1000, 99), Refusal::none);
  EXPECT_EQ(rig.queue.prepare_compare(20, 1, 0x3000, 98), Refusal::none);
  EXPECT_EQ(rig.submission_doorbell, kUntouchedDoorbell);
  EXPECT_EQ(rig.queue.prepared(), 2U);
  rig.queue.ring();
  EXPECT_EQ(rig.submission_doorbell, 2U);
  EXPECT_EQ(rig.queue.prepared(), 0U);
  EXPECT_EQ(rig.queue.outstanding(), 2U);
  const auto commands = rig.fetch();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].opcode, 0x02);
  EXPECT_EQ(commands[0].dword10, 10U);
  EXPECT_EQ(commands[0].dword12, 1U);
  EXPECT_EQ(commands[1].opcode, 0x05);
  EXPECT_EQ(commands[1].prp1, 0x3000U);
  rig.submission_doorbell = kUntouchedDoorbell;
  rig.queue.ring();
  EXPECT_EQ(rig.submission_doorbell, kUntouchedDoorbell) << "nothing prepared, nothing rung";
}

TEST(NvmeQueue, PollReapsWithOneDoorbellAndInTheDevicesOrder) {
  Rig rig(4);
  for (std::uint64_t i = 0; i < 4; ++i) rig.queue.prepare_read(i, 1, 0x1000 * i, 100 + i);
  EXPECT_EQ(rig.queue.prepare_read(0, 1, 0), Refusal::full);
  rig.queue.ring();
  const auto commands = rig.fetch();
  Completion completions[8];
  EXPECT_EQ(rig.queue.poll(completions), 0U);
  EXPECT_EQ(rig.completion_doorbell, kUntouchedDoorbell);
  rig.complete(commands[2].command_id);
  rig.complete(commands[0].command_id, 0x4281);
  rig.complete(commands[3].command_id);
  EXPECT_EQ(rig.queue.ready(), 3U);
  EXPECT_EQ(rig.completion_doorbell, kUntouchedDoorbell) << "ready() only looks";
  EXPECT_EQ(rig.queue.poll({completions, 2}), 2U);
  EXPECT_EQ(rig.queue.ready(), 1U);
  EXPECT_EQ(rig.completion_doorbell, 2U);
  EXPECT_EQ(completions[0].tag, 102U);
  EXPECT_TRUE(completions[0].status.ok());
  EXPECT_EQ(completions[1].tag, 100U);
  EXPECT_EQ(completions[1].status.text(),
            "Unrecovered Read Error (type 2 media, code 0x81, do not retry)");
  EXPECT_EQ(rig.queue.poll(completions), 1U);
  EXPECT_EQ(rig.completion_doorbell, 3U);
  ASSERT_EQ(rig.queue.outstanding(), 1U);
  ASSERT_EQ(rig.queue.in_flight().size(), 1U);
  EXPECT_EQ(rig.queue.in_flight()[0].text(), "Read of 1 block at LBA 1 into IOVA 0x1000");
}

TEST(NvmeQueue, AnyOrderOverManyWrapsLosesNothing) {
  for (const std::uint32_t depth : {1U, 2U, 3U, 31U, 32U, 256U}) {
    Rig rig(depth);
    std::mt19937 random(depth);
    std::set<std::uint64_t> awaited;
    std::set<std::uint16_t> device_ids;
    std::vector<SubmissionEntry> held;
    std::uint64_t next = 0;
    for (int step = 0; step < 4000; ++step) {
      for (auto n = random() % (depth + 1); n > 0; --n)
        if (rig.queue.prepare_read(next, 1, next * 4096, next) == Refusal::none)
          awaited.insert(next++);
      ASSERT_LE(awaited.size(), depth);
      rig.queue.ring();
      for (const SubmissionEntry& command : rig.fetch()) {
        ASSERT_TRUE(device_ids.insert(command.command_id).second) << "an id twice in flight";
        ASSERT_EQ(command.prp1, command.dword10 * std::uint64_t{4096});
        held.push_back(command);
      }
      std::shuffle(held.begin(), held.end(), random);
      for (auto n = random() % (held.size() + 1); n > 0; --n) {
        rig.complete(held.back().command_id);
        device_ids.erase(held.back().command_id);
        held.pop_back();
      }
      Completion completions[16];
      ASSERT_EQ(rig.queue.ready(), awaited.size() - held.size());
      for (unsigned i = 0, count = rig.queue.poll(completions); i < count; ++i)
        ASSERT_EQ(awaited.erase(completions[i].tag), 1U) << "a tag nobody waits for";
    }
    EXPECT_GT(next, 1000U);
    EXPECT_EQ(rig.queue.outstanding(), awaited.size());
  }
}

TEST(NvmeQueue, StrangeIdsOfADeviceAreNotUsed) {
  Rig rig(4);
  rig.queue.prepare_read(0, 1, 0, 5);
  rig.queue.ring();
  const std::uint16_t id = rig.fetch()[0].command_id;
  rig.complete(4711);                                // no such id
  rig.complete(static_cast<std::uint16_t>(id + 1));  // not in flight
  rig.complete(id);
  rig.complete(id);  // twice
  Completion completions[8];
  ASSERT_EQ(rig.queue.poll(completions), 1U);
  EXPECT_EQ(completions[0].tag, 5U);
  EXPECT_EQ(rig.queue.outstanding(), 0U);
}

TEST(NvmeQueue, AbandonedCommandsAreForgotten) {
  Rig rig(4);
  for (int i = 0; i < 3; ++i) rig.queue.prepare_read(0, 1, 0);
  rig.queue.ring();
  rig.queue.abandon();
  EXPECT_EQ(rig.queue.outstanding(), 0U);
  EXPECT_TRUE(rig.queue.in_flight().empty());
}

TEST(NvmeQueue, TransfersAreLimitedByNlbToo) {
  const IoQueue::Layout layout = IoQueue::layout({4096}, 1, 64 << 20);
  MappedMemory memory(-1, layout.bytes, 0, PROT_READ | PROT_WRITE, "rings");
  volatile std::uint32_t bell = 0;
  IoQueue queue({.id = 1,
                 .ns = {1, 1 << 20, 512, 0, false},
                 .geometry = {4096},
                 .depth = 1,
                 .max_transfer_bytes = 64 << 20,
                 .memory = memory.bytes(),
                 .iova = kIova,
                 .submission_doorbell = &bell,
                 .completion_doorbell = &bell});
  EXPECT_EQ(queue.max_blocks(), 65536U);
  EXPECT_EQ(queue.prepare_read(0, 65537, 0), Refusal::length);
  EXPECT_EQ(queue.prepare_read(0, 65536, 4), Refusal::none);
}

}  // namespace
}  // namespace pagemix::vfio::nvme
