// SPDX-License-Identifier: Apache-2.0
// Names of the NVMe base specification 2.0, figures 94 to 101, and of the NVM
// command set specification 1.0, for what this driver's commands can get.
#include "pagemix/vfio/nvme/status.hpp"

#include <nvme/types.h>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::nvme {
namespace {

struct Name {
  unsigned type;
  unsigned code;
  const char* text;
};

constexpr Name names[] = {
    {NVME_SCT_GENERIC, NVME_SC_SUCCESS, "Successful Completion"},
    {NVME_SCT_GENERIC, NVME_SC_INVALID_OPCODE, "Invalid Command Opcode"},
    {NVME_SCT_GENERIC, NVME_SC_INVALID_FIELD, "Invalid Field in Command"},
    {NVME_SCT_GENERIC, NVME_SC_CMDID_CONFLICT, "Command ID Conflict"},
    {NVME_SCT_GENERIC, NVME_SC_DATA_XFER_ERROR, "Data Transfer Error"},
    {NVME_SCT_GENERIC, NVME_SC_POWER_LOSS, "Commands Aborted due to Power Loss Notification"},
    {NVME_SCT_GENERIC, NVME_SC_INTERNAL, "Internal Error"},
    {NVME_SCT_GENERIC, NVME_SC_ABORT_REQ, "Command Abort Requested"},
    {NVME_SCT_GENERIC, NVME_SC_ABORT_QUEUE, "Command Aborted due to SQ Deletion"},
    {NVME_SCT_GENERIC, NVME_SC_FUSED_FAIL, "Command Aborted due to Failed Fused Command"},
    {NVME_SCT_GENERIC, NVME_SC_FUSED_MISSING, "Command Aborted due to Missing Fused Command"},
    {NVME_SCT_GENERIC, NVME_SC_INVALID_NS, "Invalid Namespace or Format"},
    {NVME_SCT_GENERIC, NVME_SC_CMD_SEQ_ERROR, "Command Sequence Error"},
    {NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_LAST, "Invalid SGL Segment Descriptor"},
    {NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_COUNT, "Invalid Number of SGL Descriptors"},
    {NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_DATA, "Data SGL Length Invalid"},
    {NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_METADATA, "Metadata SGL Length Invalid"},
    {NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_TYPE, "SGL Descriptor Type Invalid"},
    {NVME_SCT_GENERIC, NVME_SC_CMB_INVALID_USE, "Invalid Use of Controller Memory Buffer"},
    {NVME_SCT_GENERIC, NVME_SC_PRP_INVALID_OFFSET, "PRP Offset Invalid"},
    {NVME_SCT_GENERIC, NVME_SC_OP_DENIED, "Operation Denied"},
    {NVME_SCT_GENERIC, NVME_SC_CMD_ABORTED_PREMEPT, "Command Aborted due to Preempt and Abort"},
    {NVME_SCT_GENERIC, NVME_SC_SANITIZE_FAILED, "Sanitize Failed"},
    {NVME_SCT_GENERIC, NVME_SC_SANITIZE_IN_PROGRESS, "Sanitize In Progress"},
    {NVME_SCT_GENERIC, NVME_SC_CMD_INTERRUPTED, "Command Interrupted"},
    {NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR, "Transient Transport Error"},
    {NVME_SCT_GENERIC, NVME_SC_ADMIN_CMD_MEDIA_NOT_READY, "Admin Command Media Not Ready"},
    {NVME_SCT_GENERIC, NVME_SC_LBA_RANGE, "LBA Out of Range"},
    {NVME_SCT_GENERIC, NVME_SC_CAP_EXCEEDED, "Capacity Exceeded"},
    {NVME_SCT_GENERIC, NVME_SC_NS_NOT_READY, "Namespace Not Ready"},
    {NVME_SCT_GENERIC, NVME_SC_RESERVATION_CONFLICT, "Reservation Conflict"},
    {NVME_SCT_GENERIC, NVME_SC_FORMAT_IN_PROGRESS, "Format In Progress"},

    {NVME_SCT_CMD_SPECIFIC, NVME_SC_CQ_INVALID, "Completion Queue Invalid"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_QID_INVALID, "Invalid Queue Identifier"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_QUEUE_SIZE, "Invalid Queue Size"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_ABORT_LIMIT, "Abort Command Limit Exceeded"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_VECTOR, "Invalid Interrupt Vector"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_QUEUE, "Invalid Queue Deletion"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_FEATURE_NOT_CHANGEABLE, "Feature Not Changeable"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_NOT_ATTACHED, "Namespace Not Attached"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_CTRL_RESOURCES,
     "Invalid Number of Controller Resources"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_BAD_ATTRIBUTES, "Conflicting Attributes"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_PI, "Invalid Protection Information"},
    {NVME_SCT_CMD_SPECIFIC, NVME_SC_CMD_SIZE_LIMIT_EXCEEDED, "Command Size Limit Exceeded"},

    {NVME_SCT_MEDIA, NVME_SC_READ_ERROR, "Unrecovered Read Error"},
    {NVME_SCT_MEDIA, NVME_SC_GUARD_CHECK, "End-to-end Guard Check Error"},
    {NVME_SCT_MEDIA, NVME_SC_APPTAG_CHECK, "End-to-end Application Tag Check Error"},
    {NVME_SCT_MEDIA, NVME_SC_REFTAG_CHECK, "End-to-end Reference Tag Check Error"},
    {NVME_SCT_MEDIA, NVME_SC_COMPARE_FAILED, "Compare Failure"},
    {NVME_SCT_MEDIA, NVME_SC_ACCESS_DENIED, "Access Denied"},
    {NVME_SCT_MEDIA, NVME_SC_UNWRITTEN_BLOCK, "Deallocated or Unwritten Logical Block"},
    {NVME_SCT_MEDIA, NVME_SC_STORAGE_TAG_CHECK, "End-to-End Storage Tag Check Error"},

    {NVME_SCT_PATH, NVME_SC_ANA_INTERNAL_PATH_ERROR, "Internal Path Error"},
    {NVME_SCT_PATH, NVME_SC_ANA_PERSISTENT_LOSS, "Asymmetric Access Persistent Loss"},
    {NVME_SCT_PATH, NVME_SC_ANA_INACCESSIBLE, "Asymmetric Access Inaccessible"},
    {NVME_SCT_PATH, NVME_SC_ANA_TRANSITION, "Asymmetric Access Transition"},
    {NVME_SCT_PATH, NVME_SC_CTRL_PATH_ERROR, "Controller Pathing Error"},
};

const char* type_name(unsigned type) noexcept {
  switch (type) {
    case NVME_SCT_GENERIC:
      return "generic";
    case NVME_SCT_CMD_SPECIFIC:
      return "command specific";
    case NVME_SCT_MEDIA:
      return "media";
    case NVME_SCT_PATH:
      return "path";
    case NVME_SCT_VS:
      return "vendor specific";
    default:
      return "reserved";
  }
}

}  // namespace

std::string Status::text() const {
  const char* name = "unknown status";
  for (const Name& entry : names)
    if (entry.type == type() && entry.code == code()) name = entry.text;
  return std::string(name) + " (type " + std::to_string(type()) + " " + type_name(type()) +
         ", code " + hex(code()) + (do_not_retry() ? ", do not retry)" : ")");
}

static_assert((NVME_SCT_MEDIA << NVME_SCT_SHIFT | NVME_SC_COMPARE_FAILED) == 0x285 &&
              NVME_SC_MORE == 0x2000 && NVME_SC_DNR == 0x4000);

}  // namespace pagemix::vfio::nvme
