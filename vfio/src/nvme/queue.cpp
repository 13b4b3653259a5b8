// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/queue.hpp"

#include <algorithm>
#include <bit>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/memory.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint32_t max_nlb = 65536;  // NLB has 16 bits, 0 is one block

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

const char* to_string(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "";
    case Refusal::full:
      return "the queue is full: reap completions first";
    case Refusal::length:
      return "allowed: 1..max_blocks() blocks";
    case Refusal::lba:
      return "the blocks end beyond the namespace";
    case Refusal::iova:
      return "the IOVA must be a multiple of 4 and the range must not wrap around";
  }
  return "";
}

std::string InFlight::text() const {
  return std::string(compare ? "Compare" : "Read") + " of " + std::to_string(blocks) +
         (blocks == 1 ? " block" : " blocks") + " at LBA " + std::to_string(lba) +
         (compare ? " with" : " into") + " IOVA " + hex(iova);
}

IoQueue::Layout IoQueue::layout(const PrpGeometry& geometry, std::uint32_t depth,
                                std::uint64_t max_transfer_bytes) noexcept {
  const std::uint64_t page = geometry.page_bytes;
  Layout layout;
  layout.entries = depth + 1;
  layout.completions = round_up(layout.entries * sizeof(SubmissionEntry), page);
  layout.lists = layout.completions + round_up(layout.entries * sizeof(CompletionEntry), page);
  layout.list_bytes = geometry.list_bytes(max_transfer_bytes);
  layout.bytes = layout.lists + round_up(depth * layout.list_bytes, page);
  return layout;
}

IoQueue::IoQueue(const Parts& parts)
    : submission_doorbell_(parts.submission_doorbell),
      completion_doorbell_(parts.completion_doorbell),
      slots_(std::make_unique<Slot[]>(parts.depth)),
      free_(std::make_unique<std::uint16_t[]>(parts.depth)),
      free_count_(parts.depth),
      max_blocks_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(parts.max_transfer_bytes / parts.ns.block_bytes, max_nlb))),
      block_shift_(static_cast<std::uint32_t>(std::countr_zero(parts.ns.block_bytes))),
      ns_(parts.ns),
      geometry_(parts.geometry),
      depth_(parts.depth),
      id_(parts.id) {
  const Layout where = layout(geometry_, depth_, parts.max_transfer_bytes);
  entries_ = where.entries;
  submissions_ = reinterpret_cast<SubmissionEntry*>(parts.memory.data());
  completions_ = reinterpret_cast<CompletionEntry*>(parts.memory.data() + where.completions);
  lists_ = parts.memory.data() + where.lists;
  lists_iova_ = parts.iova + where.lists;
  list_bytes_ = where.list_bytes;
  for (std::uint32_t i = 0; i < depth_; ++i)
    free_[i] = static_cast<std::uint16_t>(depth_ - 1 - i);  // id 0 is taken first
}

template <bool compare>
Refusal IoQueue::prepare(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                         std::uint64_t tag) noexcept {
  if (blocks - 1 >= max_blocks_) return Refusal::length;
  if (lba >= ns_.blocks || blocks > ns_.blocks - lba) return Refusal::lba;
  const std::uint64_t bytes = std::uint64_t{blocks} << block_shift_;
  if ((iova & 3) != 0 || iova + bytes < iova) return Refusal::iova;
  if (free_count_ == 0) return Refusal::full;

  const std::uint16_t id = free_[--free_count_];
  Slot& slot = slots_[id];
  slot = {tag, lba, iova, blocks, compare, true};
  const std::uint64_t list = id * list_bytes_;
  const DataPointer data = build_prps(
      geometry_, iova, bytes,
      {reinterpret_cast<std::uint64_t*>(lists_ + list), list_bytes_ / sizeof(std::uint64_t)},
      lists_iova_ + list);
  const IoCommand command = compare ? IoCommand::compare(id, ns_.nsid, data, lba, blocks)
                                    : IoCommand::read(id, ns_.nsid, data, lba, blocks);
  // A free command id means a free entry: the ring has one more than ids.
  submissions_[tail_] = command.entry();
  if (++tail_ == entries_) tail_ = 0;
  ++prepared_;
  return Refusal::none;
}

Refusal IoQueue::prepare_read(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                              std::uint64_t tag) noexcept {
  return prepare<false>(lba, blocks, iova, tag);
}

Refusal IoQueue::prepare_compare(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                                 std::uint64_t tag) noexcept {
  return prepare<true>(lba, blocks, iova, tag);
}

void IoQueue::ring() noexcept {
  if (prepared_ == 0) return;
  prepared_ = 0;
  dma_write_barrier();
  *submission_doorbell_ = tail_;
}

unsigned IoQueue::poll(std::span<Completion> completions) noexcept {
  unsigned count = 0;
  while (count < completions.size()) {
    // Command id, phase and status are one dword: when the phase is new, all are.
    const std::uint32_t word = completions_[head_].id_and_status;
    if ((word >> 16 & 1) != phase_) break;
    const std::uint32_t id = word & 0xffff;
    if (++head_ == entries_) {
      head_ = 0;
      phase_ ^= 1;
    }
    // An id that is not outstanding is a fault of the device: not ours to use.
    if (id >= depth_ || !slots_[id].busy) continue;
    slots_[id].busy = false;
    completions[count++] = {slots_[id].tag, {static_cast<std::uint16_t>(word >> 17)}};
    free_[free_count_++] = static_cast<std::uint16_t>(id);
  }
  if (count != 0) {
    dma_read_barrier();
    *completion_doorbell_ = head_;
  }
  return count;
}

std::uint32_t IoQueue::ready() const noexcept {
  std::uint32_t count = 0;
  std::uint32_t at = head_;
  std::uint32_t phase = phase_;
  while (count < depth_ && (completions_[at].id_and_status >> 16 & 1) == phase) {
    ++count;
    if (++at == entries_) {
      at = 0;
      phase ^= 1;
    }
  }
  return count;
}

std::vector<InFlight> IoQueue::in_flight() const {
  std::vector<InFlight> commands;
  for (std::uint32_t i = 0; i < depth_; ++i)
    if (const Slot& slot = slots_[i]; slot.busy)
      commands.push_back({slot.compare, slot.lba, slot.blocks, slot.iova, slot.tag});
  return commands;
}

void IoQueue::abandon() noexcept {
  for (std::uint32_t i = 0; i < depth_; ++i) {
    if (!slots_[i].busy) continue;
    slots_[i].busy = false;
    free_[free_count_++] = static_cast<std::uint16_t>(i);
  }
  prepared_ = 0;
}

}  // namespace pagemix::vfio::nvme
