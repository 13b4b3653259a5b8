// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/registers.hpp"

#include <nvme/types.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint64_t doorbells_offset = 0x1000;
constexpr std::chrono::milliseconds timeout_unit(500);

constexpr std::uint32_t submission_entry_log2 = 6;
constexpr std::uint32_t completion_entry_log2 = 4;

std::uint32_t log2_page(std::uint64_t page_bytes) {
  std::uint32_t log2 = 0;
  while (std::uint64_t{1} << log2 < page_bytes) ++log2;
  return log2;
}

Capabilities decode(std::uint64_t cap, std::uint32_t version, std::uint32_t crto) {
  Capabilities c;
  c.max_queue_entries = static_cast<std::uint32_t>(NVME_CAP_MQES(cap)) + 1;
  c.min_page_bytes = std::uint64_t{4096} << NVME_CAP_MPSMIN(cap);
  c.max_page_bytes = std::uint64_t{4096} << NVME_CAP_MPSMAX(cap);
  c.doorbell_stride = std::uint64_t{4} << NVME_CAP_DSTRD(cap);
  // TO may be 0 in controllers that are ready at once; one unit is then due.
  const auto units = std::max<std::uint64_t>({NVME_CAP_TO(cap), crto & 0xffff, 1});
  c.ready_timeout = timeout_unit * static_cast<long>(units);
  c.nvm_command_set = (NVME_CAP_CSS(cap) & NVME_CAP_CSS_NVM) != 0;
  c.version = version;
  return c;
}

}  // namespace

Registers::Registers(pci::Bar bar, std::string name)
    : bar_(std::move(bar)), name_(std::move(name)) {
  static_assert(csts_offset == NVME_REG_CSTS);
  check_alive("read the registers of");
  const std::uint64_t cap = read64(NVME_REG_CAP);
  // CRTO is there if CAP.CRMS says so, and its CRWMT may exceed what TO can tell.
  const bool has_crto = (NVME_CAP_CRMS(cap) & NVME_CAP_CRWMS) != 0;
  capabilities_ = decode(cap, bar_.read<std::uint32_t>(NVME_REG_VS),
                         has_crto ? bar_.read<std::uint32_t>(NVME_REG_CRTO) : 0);
  if (!capabilities_.nvm_command_set)
    throw Error(ENOTSUP, "start " + name_,
                "CAP reads " + hex(cap) + ": no NVM command set, the drive cannot be read");
}

std::uint64_t Registers::read64(std::uint64_t offset) const {
  // In halves: allowed for every 64-bit register, and some controllers know
  // no 8-byte accesses.
  const std::uint64_t low = bar_.read<std::uint32_t>(offset);
  return low | std::uint64_t{bar_.read<std::uint32_t>(offset + 4)} << 32;
}

void Registers::write64(std::uint64_t offset, std::uint64_t value) {
  bar_.write<std::uint32_t>(offset, static_cast<std::uint32_t>(value));
  bar_.write<std::uint32_t>(offset + 4, static_cast<std::uint32_t>(value >> 32));
}

void Registers::check_alive(const std::string& operation) const {
  const std::uint32_t csts = status();
  if (csts == all_ones)
    throw Error(ENODEV, operation + " " + name_,
                "its registers read all ones: the device is gone, or its memory space is off");
}

template <typename Condition>
void Registers::wait(const std::string& operation, std::chrono::milliseconds timeout,
                     bool fatal_is_error, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const bool late = std::chrono::steady_clock::now() >= end;
    const std::uint32_t csts = status();
    if (csts == all_ones) check_alive(operation);
    if (condition(csts)) return;
    if (fatal_is_error && NVME_CSTS_CFS(csts) != 0)
      throw Error(EIO, operation + " " + name_,
                  "controller fatal status (CSTS reads " + hex(csts) + ")");
    if (late)
      throw Error(
          ETIMEDOUT, operation + " " + name_,
          "CSTS still reads " + hex(csts) + " after " + std::to_string(timeout.count()) + " ms");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Registers::disable() {
  check_alive("reset");
  bar_.write<std::uint32_t>(NVME_REG_CC, 0);
  wait("reset", capabilities_.ready_timeout, false,
       [](std::uint32_t csts) { return NVME_CSTS_RDY(csts) == 0; });
}

void Registers::enable(std::uint64_t page_bytes, std::uint32_t entries,
                       std::uint64_t submissions_iova, std::uint64_t completions_iova) {
  bar_.write<std::uint32_t>(NVME_REG_AQA,
                            NVME_SET(entries - 1, AQA_ASQS) | NVME_SET(entries - 1, AQA_ACQS));
  write64(NVME_REG_ASQ, submissions_iova);
  write64(NVME_REG_ACQ, completions_iova);
  const std::uint32_t configuration =
      NVME_SET(1U, CC_EN) | NVME_SET(static_cast<std::uint32_t>(NVME_CC_CSS_NVM), CC_CSS) |
      NVME_SET(log2_page(page_bytes) - 12, CC_MPS) | NVME_SET(submission_entry_log2, CC_IOSQES) |
      NVME_SET(completion_entry_log2, CC_IOCQES);
  bar_.write<std::uint32_t>(NVME_REG_CC, configuration);
  wait("enable", capabilities_.ready_timeout, true,
       [](std::uint32_t csts) { return NVME_CSTS_RDY(csts) != 0; });
}

void Registers::shut_down(std::chrono::milliseconds timeout) {
  const auto cc = bar_.read<std::uint32_t>(NVME_REG_CC);
  bar_.write<std::uint32_t>(NVME_REG_CC,
                            (cc & ~(std::uint32_t{NVME_CC_SHN_MASK} << NVME_CC_SHN_SHIFT)) |
                                NVME_SET(static_cast<std::uint32_t>(NVME_CC_SHN_NORMAL), CC_SHN));
  wait("shut down", timeout, true,
       [](std::uint32_t csts) { return NVME_CSTS_SHST(csts) == NVME_CSTS_SHST_CMPLT; });
}

volatile std::uint32_t* Registers::submission_doorbell(std::uint16_t id) {
  return bar_.at<std::uint32_t>(doorbells_offset + 2 * id * capabilities_.doorbell_stride);
}

volatile std::uint32_t* Registers::completion_doorbell(std::uint16_t id) {
  return bar_.at<std::uint32_t>(doorbells_offset + (2 * id + 1) * capabilities_.doorbell_stride);
}

}  // namespace pagemix::vfio::nvme
