// SPDX-License-Identifier: Apache-2.0
// Everything that can be sent to a controller. The driver is read-only by
// construction: a submission queue takes IoCommand or AdminCommand and nothing
// else, neither can be made but by the functions below, and none of those takes
// an opcode. The two are different types because their opcodes overlap: Create
// I/O Submission Queue in an I/O queue would be a Write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pagemix::vfio::nvme {

/// Submission queue entry, NVMe base specification 2.0, figure 88.
struct alignas(64) SubmissionEntry {
  std::uint8_t opcode = 0;
  std::uint8_t flags = 0;  ///< fused operation and PSDT: always 0, not fused, PRPs
  std::uint16_t command_id = 0;
  std::uint32_t nsid = 0;
  std::uint64_t reserved = 0;
  std::uint64_t metadata = 0;
  std::uint64_t prp1 = 0;
  std::uint64_t prp2 = 0;
  std::uint32_t dword10 = 0;
  std::uint32_t dword11 = 0;
  std::uint32_t dword12 = 0;
  std::uint32_t dword13 = 0;
  std::uint32_t dword14 = 0;
  std::uint32_t dword15 = 0;
};
static_assert(sizeof(SubmissionEntry) == 64 && offsetof(SubmissionEntry, dword10) == 40);

/// Completion queue entry, NVMe base specification 2.0, figure 91.
struct alignas(16) CompletionEntry {
  std::uint32_t result = 0;  ///< command specific
  std::uint32_t reserved = 0;
  std::uint16_t submission_head = 0;
  std::uint16_t submission_queue = 0;
  std::uint32_t id_and_status = 0;  ///< command id; phase tag in bit 16, status above it
};
static_assert(sizeof(CompletionEntry) == 16);

/// PRP1 and PRP2 of a command.
struct DataPointer {
  std::uint64_t prp1 = 0;
  std::uint64_t prp2 = 0;
};

/// A command for an I/O queue: Read or Compare.
class IoCommand {
 public:
  /// `blocks` 1..65536 from `lba`; the caller has checked that they exist.
  static IoCommand read(std::uint16_t id, std::uint32_t nsid, const DataPointer& data,
                        std::uint64_t lba, std::uint32_t blocks) noexcept;
  static IoCommand compare(std::uint16_t id, std::uint32_t nsid, const DataPointer& data,
                           std::uint64_t lba, std::uint32_t blocks) noexcept;
  const SubmissionEntry& entry() const noexcept { return entry_; }

 private:
  explicit IoCommand(const SubmissionEntry& entry) noexcept : entry_(entry) {}
  SubmissionEntry entry_;
};

/// A command for the admin queue: Identify, Create and Delete I/O queues, Set
/// Features of Number of Queues, Abort.
class AdminCommand {
 public:
  /// Identify writes 4096 bytes to `iova`, a multiple of the controller's page.
  static AdminCommand identify_controller(std::uint64_t iova) noexcept;
  static AdminCommand identify_namespace(std::uint32_t nsid, std::uint64_t iova) noexcept;
  /// Up to 1024 active namespace ids above `after`.
  static AdminCommand identify_active_namespaces(std::uint32_t after, std::uint64_t iova) noexcept;
  /// Asks for `pairs` (1..65535) I/O queue pairs; result() tells what is given.
  static AdminCommand set_queue_count(std::uint32_t pairs) noexcept;
  /// Physically contiguous rings of `entries` at `iova`; no interrupts.
  static AdminCommand create_completion_queue(std::uint16_t queue, std::uint32_t entries,
                                              std::uint64_t iova) noexcept;
  static AdminCommand create_submission_queue(std::uint16_t queue, std::uint32_t entries,
                                              std::uint64_t iova,
                                              std::uint16_t completion_queue) noexcept;
  static AdminCommand delete_submission_queue(std::uint16_t queue) noexcept;
  static AdminCommand delete_completion_queue(std::uint16_t queue) noexcept;
  static AdminCommand abort(std::uint16_t submission_queue, std::uint16_t command_id) noexcept;

  /// The admin queue numbers its commands itself.
  void set_id(std::uint16_t id) noexcept { entry_.command_id = id; }
  const SubmissionEntry& entry() const noexcept { return entry_; }
  /// "Identify", for messages.
  const char* name() const noexcept;

 private:
  explicit AdminCommand(const SubmissionEntry& entry) noexcept : entry_(entry) {}
  SubmissionEntry entry_;
};

}  // namespace pagemix::vfio::nvme
