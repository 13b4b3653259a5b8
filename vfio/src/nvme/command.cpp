// SPDX-License-Identifier: Apache-2.0
// The only place where opcodes are written down. tests/unit/vfio/nvme checks
// that no other one is, here or elsewhere.
#include "pagemix/vfio/nvme/command.hpp"

#include <nvme/types.h>

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint32_t physically_contiguous = 1;  // PC, dword 11 of Create Queue

SubmissionEntry io_entry(std::uint8_t opcode, std::uint16_t id, std::uint32_t nsid,
                         const DataPointer& data, std::uint64_t lba,
                         std::uint32_t blocks) noexcept {
  SubmissionEntry entry;
  entry.opcode = opcode;
  entry.command_id = id;
  entry.nsid = nsid;
  entry.prp1 = data.prp1;
  entry.prp2 = data.prp2;
  entry.dword10 = static_cast<std::uint32_t>(lba);
  entry.dword11 = static_cast<std::uint32_t>(lba >> 32);
  entry.dword12 = (blocks - 1) & 0xffff;  // NLB; the flags above it stay 0
  return entry;
}

SubmissionEntry identify_entry(std::uint32_t cns, std::uint32_t nsid, std::uint64_t iova) noexcept {
  SubmissionEntry entry;
  entry.opcode = nvme_admin_identify;
  entry.nsid = nsid;
  entry.prp1 = iova;
  entry.dword10 = cns;
  return entry;
}

SubmissionEntry queue_entry(std::uint8_t opcode, std::uint16_t queue, std::uint32_t entries = 1,
                            std::uint64_t iova = 0, std::uint32_t dword11 = 0) noexcept {
  SubmissionEntry entry;
  entry.opcode = opcode;
  entry.prp1 = iova;
  entry.dword10 = ((entries - 1) & 0xffff) << 16 | queue;
  entry.dword11 = dword11;
  return entry;
}

}  // namespace

IoCommand IoCommand::read(std::uint16_t id, std::uint32_t nsid, const DataPointer& data,
                          std::uint64_t lba, std::uint32_t blocks) noexcept {
  return IoCommand(io_entry(nvme_cmd_read, id, nsid, data, lba, blocks));
}

IoCommand IoCommand::compare(std::uint16_t id, std::uint32_t nsid, const DataPointer& data,
                             std::uint64_t lba, std::uint32_t blocks) noexcept {
  return IoCommand(io_entry(nvme_cmd_compare, id, nsid, data, lba, blocks));
}

AdminCommand AdminCommand::identify_controller(std::uint64_t iova) noexcept {
  return AdminCommand(identify_entry(NVME_IDENTIFY_CNS_CTRL, 0, iova));
}

AdminCommand AdminCommand::identify_namespace(std::uint32_t nsid, std::uint64_t iova) noexcept {
  return AdminCommand(identify_entry(NVME_IDENTIFY_CNS_NS, nsid, iova));
}

AdminCommand AdminCommand::identify_active_namespaces(std::uint32_t after,
                                                      std::uint64_t iova) noexcept {
  return AdminCommand(identify_entry(NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, after, iova));
}

AdminCommand AdminCommand::set_queue_count(std::uint32_t pairs) noexcept {
  SubmissionEntry entry;
  entry.opcode = nvme_admin_set_features;
  entry.dword10 = NVME_FEAT_FID_NUM_QUEUES;  // SV, bit 31, stays 0: nothing is saved
  const std::uint32_t zero_based = (pairs - 1) & 0xffff;
  entry.dword11 = zero_based << 16 | zero_based;
  return AdminCommand(entry);
}

AdminCommand AdminCommand::create_completion_queue(std::uint16_t queue, std::uint32_t entries,
                                                   std::uint64_t iova) noexcept {
  return AdminCommand(
      queue_entry(nvme_admin_create_cq, queue, entries, iova, physically_contiguous));
}

AdminCommand AdminCommand::create_submission_queue(std::uint16_t queue, std::uint32_t entries,
                                                   std::uint64_t iova,
                                                   std::uint16_t completion_queue) noexcept {
  return AdminCommand(queue_entry(nvme_admin_create_sq, queue, entries, iova,
                                  std::uint32_t{completion_queue} << 16 | physically_contiguous));
}

AdminCommand AdminCommand::delete_submission_queue(std::uint16_t queue) noexcept {
  return AdminCommand(queue_entry(nvme_admin_delete_sq, queue));
}

AdminCommand AdminCommand::delete_completion_queue(std::uint16_t queue) noexcept {
  return AdminCommand(queue_entry(nvme_admin_delete_cq, queue));
}

AdminCommand AdminCommand::abort(std::uint16_t submission_queue,
                                 std::uint16_t command_id) noexcept {
  SubmissionEntry entry;
  entry.opcode = nvme_admin_abort_cmd;
  entry.dword10 = std::uint32_t{command_id} << 16 | submission_queue;
  return AdminCommand(entry);
}

const char* AdminCommand::name() const noexcept {
  switch (entry_.opcode) {
    case nvme_admin_identify:
      return "Identify";
    case nvme_admin_set_features:
      return "Set Features (Number of Queues)";
    case nvme_admin_create_cq:
      return "Create I/O Completion Queue";
    case nvme_admin_create_sq:
      return "Create I/O Submission Queue";
    case nvme_admin_delete_sq:
      return "Delete I/O Submission Queue";
    case nvme_admin_delete_cq:
      return "Delete I/O Completion Queue";
    default:
      return "Abort";
  }
}

}  // namespace pagemix::vfio::nvme
