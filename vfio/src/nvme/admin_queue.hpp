// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "pagemix/vfio/nvme/command.hpp"
#include "pagemix/vfio/nvme/status.hpp"

namespace pagemix::vfio::nvme {

/// The admin queue pair, one command at a time.
class AdminQueue {
 public:
  static constexpr std::uint32_t entries = 8;

  struct Result {
    Status status;
    std::uint32_t value = 0;  ///< dword 0 of the completion
  };

  /// Rings of `entries`, zeroed, and their doorbells; all outlive the queue.
  AdminQueue(SubmissionEntry* submissions, const CompletionEntry* completions,
             volatile std::uint32_t* submission_doorbell,
             volatile std::uint32_t* completion_doorbell) noexcept;

  /// Submits `command` and polls, with a short sleep, until it is complete or
  /// `give_up` returns true, which it is asked about once a millisecond.
  /// nullopt: gave up, the command is still with the device.
  std::optional<Result> execute(const AdminCommand& command, const std::function<bool()>& give_up);

 private:
  SubmissionEntry* submissions_;
  const volatile CompletionEntry* completions_;
  volatile std::uint32_t* submission_doorbell_;
  volatile std::uint32_t* completion_doorbell_;
  std::uint32_t tail_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t phase_ = 1;
  std::uint16_t next_id_ = 0;
};

}  // namespace pagemix::vfio::nvme
