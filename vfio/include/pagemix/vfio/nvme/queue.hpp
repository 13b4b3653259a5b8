// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pagemix/vfio/nvme/command.hpp"
#include "pagemix/vfio/nvme/identify.hpp"
#include "pagemix/vfio/nvme/prp.hpp"
#include "pagemix/vfio/nvme/status.hpp"

namespace pagemix::vfio::nvme {

class DmaMemory;

/// What a reaped command reports.
struct Completion {
  std::uint64_t tag = 0;  ///< as given to prepare_read() or prepare_compare()
  Status status;
};

/// Why a command was not prepared. `none`: it was.
enum class Refusal : std::uint8_t {
  none,
  full,    ///< depth() commands are outstanding
  length,  ///< 0 blocks, or more than max_blocks()
  lba,     ///< ends beyond the namespace
  iova,    ///< no multiple of 4, or the range wraps around
};
/// "the IOVA is no multiple of 4, ..."; empty for none.
const char* to_string(Refusal refusal) noexcept;

/// A command that has not been reaped.
struct InFlight {
  bool compare = false;
  std::uint64_t lba = 0;
  std::uint32_t blocks = 0;
  std::uint64_t iova = 0;
  std::uint64_t tag = 0;
  /// "Read of 8 blocks at LBA 0 into IOVA 0x200000"
  std::string text() const;
};

struct QueueOptions {
  std::uint32_t depth = 32;  ///< commands outstanding at most: 1..4096, within CAP.MQES
  /// Longest transfer; decides the room for PRP lists. 0: what the controller
  /// takes, up to 2 MiB.
  std::uint64_t max_transfer_bytes = 0;
};

/// One submission and one completion queue of a namespace.
///
///     for (...) queue.prepare_read(lba, blocks, iova, tag);
///     queue.ring();                            // one register write for all
///     n = queue.poll(completions);             // one register write if n > 0
///
/// prepare, ring, poll and the counters are the measured path: no allocation,
/// no exception, no system call. Not thread safe; several queues of a
/// controller may be used by a thread each.
///
/// The device may read or write [iova, iova + bytes) of a command from ring()
/// until poll() returned its completion: keep it mapped until then.
class IoQueue {
 public:
  /// Registers and memory of a queue that the controller has created; made by
  /// Controller::make_queue(). `memory` is zeroed and holds layout().bytes.
  struct Parts {
    std::uint16_t id = 0;
    Namespace ns;
    PrpGeometry geometry;
    std::uint32_t depth = 0;
    std::uint64_t max_transfer_bytes = 0;
    std::span<std::byte> memory;
    std::uint64_t iova = 0;
    volatile std::uint32_t* submission_doorbell = nullptr;
    volatile std::uint32_t* completion_doorbell = nullptr;
  };
  /// Where things are in the queue's memory; each starts at a page.
  struct Layout {
    std::uint32_t entries = 0;  ///< of both rings: depth + 1, as a full ring keeps one free
    std::uint64_t completions = 0;
    std::uint64_t lists = 0;
    std::uint64_t list_bytes = 0;  ///< of one command
    std::uint64_t bytes = 0;
  };
  static Layout layout(const PrpGeometry& geometry, std::uint32_t depth,
                       std::uint64_t max_transfer_bytes) noexcept;

  explicit IoQueue(const Parts& parts);
  IoQueue(const IoQueue&) = delete;
  IoQueue& operator=(const IoQueue&) = delete;

  /// Puts a Read of `blocks` at `lba` into [iova, iova + blocks * block_bytes)
  /// into the submission ring. `iova` is any multiple of 4. The device does not
  /// see it before ring().
  Refusal prepare_read(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                       std::uint64_t tag = 0) noexcept;
  /// The same for a Compare: the device reads the memory and compares it with
  /// the blocks. Status::compare_failed() tells that they differ.
  Refusal prepare_compare(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                          std::uint64_t tag = 0) noexcept;

  /// Gives all prepared commands to the device: stores to DMA memory made
  /// before are seen by it. One doorbell write, none if nothing is prepared.
  void ring() noexcept;

  /// Reaps what is complete, up to completions.size(), in the device's order,
  /// with one doorbell write; returns how many. Does not wait. Data of the
  /// reaped Reads is seen by loads after it.
  unsigned poll(std::span<Completion> completions) noexcept;

  /// Completions that poll() would find now; reaps nothing. To wait for the
  /// device outside of what is timed.
  std::uint32_t ready() const noexcept;

  std::uint32_t depth() const noexcept { return depth_; }
  /// Commands prepared or with the device, not reaped.
  std::uint32_t outstanding() const noexcept { return depth_ - free_count_; }
  /// Commands prepared but not rung.
  std::uint32_t prepared() const noexcept { return prepared_; }
  std::uint16_t id() const noexcept { return id_; }
  const Namespace& ns() const noexcept { return ns_; }
  std::uint32_t max_blocks() const noexcept { return max_blocks_; }
  std::uint64_t max_transfer_bytes() const noexcept {
    return std::uint64_t{max_blocks_} * ns_.block_bytes;
  }
  /// Outstanding commands, for a report; allocates.
  std::vector<InFlight> in_flight() const;
  /// Forgets outstanding commands. Only for a controller that is stopped: a
  /// running one would still use their memory.
  void abandon() noexcept;

 private:
  struct Slot {
    std::uint64_t tag = 0;
    std::uint64_t lba = 0;
    std::uint64_t iova = 0;
    std::uint32_t blocks = 0;
    bool compare = false;
    bool busy = false;
  };
  template <bool compare>
  Refusal prepare(std::uint64_t lba, std::uint32_t blocks, std::uint64_t iova,
                  std::uint64_t tag) noexcept;

  // In the order of use by the measured path.
  SubmissionEntry* submissions_ = nullptr;
  const volatile CompletionEntry* completions_ = nullptr;
  volatile std::uint32_t* submission_doorbell_ = nullptr;
  volatile std::uint32_t* completion_doorbell_ = nullptr;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::uint16_t[]> free_;  // stack of command ids
  std::uint32_t entries_ = 0;
  std::uint32_t free_count_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t phase_ = 1;
  std::uint32_t prepared_ = 0;
  std::uint32_t max_blocks_ = 0;
  std::uint32_t block_shift_ = 0;
  Namespace ns_;
  PrpGeometry geometry_;
  std::byte* lists_ = nullptr;
  std::uint64_t lists_iova_ = 0;
  std::uint64_t list_bytes_ = 0;
  std::uint32_t depth_ = 0;
  std::uint16_t id_ = 0;
};

}  // namespace pagemix::vfio::nvme
