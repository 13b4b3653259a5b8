// SPDX-License-Identifier: Apache-2.0
// Reads put exactly the drive's bytes exactly where they belong, and Compares
// look at every byte: for each mix, each length class and each offset class of
// a PRP list. Needs the drive of target nvme-file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "nvme_fixture.hpp"
#include "support/kernel.hpp"
#include "support/pattern.hpp"

namespace pagemix::test {
namespace {

constexpr std::uint64_t kBufferBytes = 10 * kMiB;
// Without a limit of its own (mdts=0) QEMU's drive still fails a command of more
// than IOV_MAX (1024) PRP entries: nvme_map_addr() in hw/nvme/ctrl.c. Two list
// pages are chained from 514 entries on.
constexpr std::uint64_t kQemuTransferBytes = 1023 * 4096;
constexpr std::byte kUntouched{0xa5};
constexpr std::uint64_t kGuard = 64;  // bytes looked at before and after a transfer

/// First PRP offsets: none, the smallest, across LBA and page ends, the last dword.
constexpr std::uint64_t kOffsets[] = {0, 4, 508, 512, 2048, 3584, 4088, 4092};

/// Lengths in bytes that make each kind of PRP1/PRP2/list, up to the longest
/// the queue takes; multiples of the block.
std::vector<std::uint64_t> lengths(const nvme::IoQueue& queue) {
  const std::uint64_t block = queue.ns().block_bytes;
  const std::uint64_t longest = queue.max_transfer_bytes();
  std::set<std::uint64_t> all;
  // One and two pages and the blocks around; lists of few entries; the list's
  // page exactly full (512 entries), chained by one; the longest.
  for (const std::uint64_t page : {0, 1, 2, 3, 9, 64, 512, 513, 514, 1024})
    for (const std::uint64_t bytes : {page * 4096 - block, page * 4096, page * 4096 + block})
      if (bytes != 0 && bytes <= longest) all.insert(bytes);
  all.insert({longest - block, longest});
  return {all.begin(), all.end()};
}

class NvmeRead : public NvmeTest {
 protected:
  void SetUp() override {
    NvmeTest::SetUp();
    if (HasFatalFailure()) return;
    NvmeSession& nvme = open();
    const nvme::Namespace& ns = nvme.controller.find_namespace();
    queue = &nvme.controller.make_queue(
        ns,
        {.depth = 8,
         .max_transfer_bytes = std::min(nvme.controller.max_transfer_bytes(), kQemuTransferBytes)});
    pattern = drive_pattern(ns.bytes());
  }
  std::span<const std::byte> at_lba(std::uint64_t lba, std::uint64_t bytes) const {
    return std::span(pattern).subspan(lba * queue->ns().block_bytes, bytes);
  }
  std::uint64_t some_lba(std::uint64_t bytes) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % (queue->ns().blocks - bytes / queue->ns().block_bytes + 1);
  }

  nvme::IoQueue* queue = nullptr;
  std::vector<std::byte> pattern;
  std::uint64_t seed = 1;
};

class EveryMixNvme : public NvmeRead, public testing::WithParamInterface<NamedMix> {};

TEST_P(EveryMixNvme, EveryLengthAndOffsetReadsTheFile) {
  const Fd buffer = allocate(kBufferBytes, GetParam().steps, PAGEMIX_LAYOUT_SCATTERED);
  ASSERT_TRUE(buffer) << std::strerror(errno);
  const Map cpu(buffer.get(), kBufferBytes);
  ASSERT_TRUE(cpu);
  const std::span<std::byte> bytes(cpu.as<std::byte>(), kBufferBytes);
  const vfio::iommu::Mapping mapping(session->space, session->iovas, bytes);

  unsigned transfers = 0;
  for (const std::uint64_t length : lengths(*queue)) {
    const auto blocks = static_cast<std::uint32_t>(length / queue->ns().block_bytes);
    for (const std::uint64_t offset : kOffsets) {
      // Across the ends of 4 KiB, 64 KiB, 1 MiB and 2 MiB chunks where it is short.
      for (const std::uint64_t border : {std::uint64_t{8192}, 2 * std::uint64_t{65536}, 2 * kMiB}) {
        const std::uint64_t begin = border - 4096 + offset;
        if (begin + length + kGuard > kBufferBytes || (length > kMiB && border != 8192)) continue;
        const std::span<std::byte> around = bytes.subspan(begin - kGuard, length + 2 * kGuard);
        std::fill(around.begin(), around.end(), kUntouched);
        const std::uint64_t lba = some_lba(length);
        const std::uint64_t iova = mapping.iova() + begin;
        const auto what = testing::Message()
                          << length << " bytes of LBA " << lba << " at offset " << begin;
        ASSERT_EQ(run(*session, *queue, false, lba, blocks, iova).text(), nvme::Status{}.text())
            << what;
        const std::span<const std::byte> file = at_lba(lba, length);
        ASSERT_EQ(std::memcmp(around.data() + kGuard, file.data(), length), 0) << what;
        for (std::uint64_t i = 0; i < kGuard; ++i) {
          ASSERT_EQ(around[i], kUntouched) << what << ", written before it";
          ASSERT_EQ(around[kGuard + length + i], kUntouched) << what << ", written behind it";
        }
        ASSERT_TRUE(run(*session, *queue, true, lba, blocks, iova).ok()) << what;
        // One flipped bit at the first, some and the last byte.
        for (const std::uint64_t flipped : {std::uint64_t{0}, length * 5 / 8, length - 1}) {
          bytes[begin + flipped] ^= std::byte{0x10};
          const nvme::Status status = run(*session, *queue, true, lba, blocks, iova);
          ASSERT_TRUE(status.compare_failed())
              << what << ", byte " << flipped << " flipped: " << status.text();
          bytes[begin + flipped] ^= std::byte{0x10};
        }
        ++transfers;
      }
    }
  }
  session->controller.check_faults();
  std::printf("%s: %u transfers of %zu lengths, blocks of %u bytes, up to %llu bytes\n",
              GetParam().name, transfers, lengths(*queue).size(), queue->ns().block_bytes,
              static_cast<unsigned long long>(queue->max_transfer_bytes()));
}

INSTANTIATE_TEST_SUITE_P(Mixes, EveryMixNvme, testing::ValuesIn(all_mixes()),
                         [](const testing::TestParamInfo<NamedMix>& mix) {
                           std::string name = mix.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(NvmeRead, ABatchWithOneDoorbellKeepsTagsAndPlaces) {
  const std::uint64_t block = queue->ns().block_bytes;
  DmaBuffer buffer(*session, 8 * block);
  for (std::uint64_t round = 0; round < 300; ++round) {  // rings of 9 entries wrap many times
    for (std::uint64_t i = 0; i < 8; ++i)
      ASSERT_EQ(queue->prepare_read(round * 8 + 7 - i, 1, buffer.mapping.iova() + i * block, i),
                nvme::Refusal::none);
    EXPECT_EQ(queue->prepare_read(0, 1, buffer.mapping.iova()), nvme::Refusal::full);
    EXPECT_EQ(queue->prepared(), 8U);
    queue->ring();
    std::set<std::uint64_t> tags;
    while (queue->outstanding() != 0) {
      nvme::Completion completions[3];  // fewer than there are
      const unsigned count = session->controller.wait(*queue, completions);
      for (unsigned i = 0; i < count; ++i) {
        ASSERT_TRUE(completions[i].status.ok());
        tags.insert(completions[i].tag);
      }
    }
    ASSERT_EQ(tags.size(), 8U);
    for (std::uint64_t i = 0; i < 8; ++i)
      ASSERT_EQ(std::memcmp(buffer.memory.data() + i * block,
                            at_lba(round * 8 + 7 - i, block).data(), block),
                0)
          << "round " << round << ", command " << i;
  }
}

TEST_F(NvmeRead, QueuesOfAllDepthsWorkSideBySide) {
  nvme::Controller& controller = session->controller;
  const nvme::Namespace& ns = controller.find_namespace();
  DmaBuffer buffer(*session, 4096);
  std::vector<nvme::IoQueue*> queues;
  for (std::uint32_t i = 1; i < controller.max_queues(); ++i)
    queues.push_back(&controller.make_queue(
        ns, {.depth = i % 3 == 0 ? controller.max_depth() : i, .max_transfer_bytes = 4096}));
  ASSERT_EQ(queues.size() + 1, 64U) << "QEMU has 64 queue pairs";
  expect_error(ENOSPC, "all 64 queue pairs", [&] { controller.make_queue(ns); });
  for (nvme::IoQueue* each : queues) {
    for (std::uint32_t i = 0; i < each->depth(); ++i)
      ASSERT_EQ(each->prepare_read(i % ns.blocks, 1, buffer.mapping.iova()), nvme::Refusal::none);
    ASSERT_EQ(each->prepare_read(0, 1, buffer.mapping.iova()), nvme::Refusal::full);
    controller.drain(*each);
  }
  for (nvme::IoQueue* each : queues) controller.remove_queue(*each);
  EXPECT_EQ(controller.make_queue(ns).id(), 2U) << "ids of removed queues are free again";
}

TEST_F(NvmeRead, LimitsAreKept) {
  nvme::Controller& controller = session->controller;
  const nvme::Namespace& ns = controller.find_namespace();
  const std::uint64_t iova = 0x10000000;
  EXPECT_EQ(queue->prepare_read(0, 0, iova), nvme::Refusal::length);
  EXPECT_EQ(queue->prepare_read(0, queue->max_blocks() + 1, iova), nvme::Refusal::length);
  EXPECT_EQ(queue->prepare_read(ns.blocks, 1, iova), nvme::Refusal::lba);
  EXPECT_EQ(queue->prepare_read(ns.blocks - 1, 2, iova), nvme::Refusal::lba);
  EXPECT_EQ(queue->prepare_read(~std::uint64_t{0}, 2, iova), nvme::Refusal::lba);
  EXPECT_EQ(queue->prepare_read(0, 1, iova + 2), nvme::Refusal::iova);
  EXPECT_EQ(queue->prepare_compare(0, 1, ~std::uint64_t{0} - 3), nvme::Refusal::iova);
  EXPECT_EQ(queue->outstanding(), 0U);
  nvme::Completion completion;
  expect_error(EINVAL, "nothing is with the device", [&] {
    controller.wait(*queue, {&completion, 1});
  });
  expect_error(EINVAL, "depth 0, allowed: 1..",
               [&] { controller.make_queue(ns, {.depth = 0, .max_transfer_bytes = 0}); });
  expect_error(EINVAL, "allowed: 1..", [&] {
    controller.make_queue(ns, {.depth = controller.max_depth() + 1, .max_transfer_bytes = 0});
  });
  expect_error(EINVAL, "bytes, allowed: " + std::to_string(ns.block_bytes) + "..",
               [&] { controller.make_queue(ns, {.depth = 1, .max_transfer_bytes = 1}); });
  expect_error(ENOENT, "it has: 1", [&] { controller.find_namespace(7); });
  EXPECT_EQ(controller.identity().serial, "pagemix");
  EXPECT_TRUE(controller.identity().compare);
}

TEST_F(NvmeRead, AControllerLeftRunningIsTakenOver) {
  // A drive with commands on their way when its user goes, and a user who does
  // not clean up: the next one resets it.
  DmaBuffer buffer(*session, 4096);
  for (int i = 0; i < 8; ++i) queue->prepare_read(0, 1, buffer.mapping.iova());
  queue->ring();
  vfio::pci::Bar bar = session->device.map_bar(0);
  ASSERT_EQ(bar.read<std::uint32_t>(0x1c) & 1, 1U) << "ready";
  nvme::Controller second(session->space, session->iovas, session->device);
  nvme::IoQueue& fresh = second.make_queue(second.find_namespace());
  EXPECT_TRUE(run(*session, fresh, false, 0, 1, buffer.mapping.iova()).ok());
  EXPECT_EQ(std::memcmp(buffer.memory.data(), pattern.data(), 512), 0);
}

TEST_F(NvmeRead, TheEngineReadsAndCompares) {
  nvme::Engine engine(session->controller, session->controller.find_namespace());
  DmaBuffer buffer(*session, 64 * 1024);
  engine.write_memory(buffer.mapping.iova(), 32768);
  EXPECT_EQ(std::memcmp(buffer.memory.data(), pattern.data(), 32768), 0);
  engine.read_memory(buffer.mapping.iova(), 32768);
  EXPECT_TRUE(engine.last_compare_equal());
  buffer.memory.data()[5] ^= std::byte{1};
  engine.read_memory(buffer.mapping.iova(), 32768);
  EXPECT_FALSE(engine.last_compare_equal());
  expect_error(ENOTSUP, "does not keep",
               [&] { engine.copy(buffer.mapping.iova(), buffer.mapping.iova() + 32768, 4096); });
  expect_error(EINVAL, "allowed: multiples of", [&] { engine.start_read(0x10000000, 100); });
  expect_error(ERANGE, "multiple of 4", [&] { engine.start_read(0x10000001, 4096); });
}

}  // namespace
}  // namespace pagemix::test
