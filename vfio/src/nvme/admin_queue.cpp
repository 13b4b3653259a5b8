// SPDX-License-Identifier: Apache-2.0
#include "admin_queue.hpp"

#include <chrono>
#include <thread>

#include "pagemix/vfio/memory.hpp"

namespace pagemix::vfio::nvme {

AdminQueue::AdminQueue(SubmissionEntry* submissions, const CompletionEntry* completions,
                       volatile std::uint32_t* submission_doorbell,
                       volatile std::uint32_t* completion_doorbell) noexcept
    : submissions_(submissions),
      completions_(completions),
      submission_doorbell_(submission_doorbell),
      completion_doorbell_(completion_doorbell) {}

std::optional<AdminQueue::Result> AdminQueue::execute(const AdminCommand& command,
                                                      const std::function<bool()>& give_up) {
  const std::uint16_t id = next_id_++;
  AdminCommand numbered = command;
  numbered.set_id(id);
  submissions_[tail_] = numbered.entry();
  tail_ = (tail_ + 1) % entries;
  dma_write_barrier();
  *submission_doorbell_ = tail_;

  for (;;) {
    const std::uint32_t word = completions_[head_].id_and_status;
    if ((word >> 16 & 1) == phase_) {
      dma_read_barrier();
      const Result result{{static_cast<std::uint16_t>(word >> 17)}, completions_[head_].result};
      head_ = (head_ + 1) % entries;
      if (head_ == 0) phase_ ^= 1;
      *completion_doorbell_ = head_;
      // Another id is left over from a command that was given up.
      if ((word & 0xffff) == id) return result;
      continue;
    }
    if (give_up()) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace pagemix::vfio::nvme
