// SPDX-License-Identifier: Apache-2.0
#include "machine/drive.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "machine/device_session.hpp"

namespace pagemix::bench {
namespace {

namespace pci = vfio::pci;
namespace nvme = vfio::nvme;

// Longer transfers say nothing more about translation and need long PRP lists.
constexpr std::uint64_t kLongestTransfer = 512 * 1024;

// Completions taken from the queue at once.
constexpr std::size_t kBatch = 64;

nvme::IoQueue& make_queue(nvme::Controller& controller, std::uint32_t depth) {
  if (depth > controller.max_depth())
    throw RunError(controller.name() + ": " + std::to_string(depth) +
                   " commands in flight; the controller takes " +
                   std::to_string(controller.max_depth()) + ": lower depths");
  return controller.make_queue(
      controller.find_namespace(),
      {.depth = depth,
       .max_transfer_bytes = std::min(kLongestTransfer, controller.max_transfer_bytes())});
}

pci::DeviceInfo parse_device(const char* option, const std::string& text,
                             const vfio::SystemPaths& paths) {
  const auto bdf = pci::Bdf::try_parse(text);
  if (!bdf)
    throw UsageError(std::string(option) + ": unreadable address \"" + text +
                     "\"; allowed: domain:bus:device.function, as in 0000:01:00.0");
  return pci::read_device(*bdf, paths);
}

bool left_to_us(const pci::DeviceInfo& device) {
  return !device.driver || device.driver == "vfio-pci" || device.driver == "pagemix";
}

}  // namespace

Drive::Drive(const pci::Bdf& bdf, std::uint32_t depth, const std::string& backend)
    : binding_(bdf, "vfio-pci"),
      info_(pci::read_device(bdf)),
      space_(vfio::iommu::make_address_space(backend, info_)),
      iovas_(space_->iova_ranges(), space_->granule()),
      device_(*space_, info_),
      controller_(*space_, iovas_, device_),
      queue_(&make_queue(controller_, depth)),
      block_shift_(static_cast<unsigned>(std::countr_zero(queue_->ns().block_bytes))) {}

TransferLimits Drive::limits() const {
  return {.block_bytes = queue_->ns().block_bytes,
          .max_bytes = static_cast<std::uint32_t>(queue_->max_transfer_bytes())};
}

nlohmann::ordered_json Drive::json() const {
  const nvme::ControllerIdentity& identity = controller_.identity();
  return {{"device", info_.bdf.text()},
          {"id", info_.id()},
          {"model", identity.model},
          {"firmware", identity.firmware},
          {"block_bytes", limits().block_bytes},
          {"namespace_bytes", namespace_bytes()},
          {"max_transfer_bytes", limits().max_bytes}};
}

void Drive::prepare(const Access& access, Move move, std::uint64_t iova, std::uint64_t tag) {
  const std::uint64_t lba = access.offset >> block_shift_;
  const std::uint32_t blocks = access.bytes >> block_shift_;
  const nvme::Refusal refusal =
      move == Move::kToMemory ? queue_->prepare_read(lba, blocks, iova + access.offset, tag)
                              : queue_->prepare_compare(lba, blocks, iova + access.offset, tag);
  if (refusal == nvme::Refusal::none) return;
  throw RunError(controller_.name() + ": transfer of " + std::to_string(access.bytes) +
                 " bytes at LBA " + std::to_string(lba) + ": " + nvme::to_string(refusal));
}

int Drive::transfer(std::span<const Access> accesses, Move move, std::uint64_t iova,
                    std::uint32_t depth) {
  std::array<nvme::Completion, kBatch> done;
  std::size_t next = 0;
  std::optional<nvme::Completion> failed;
  while (true) {
    const bool give_up = failed || Interrupt::urgent();
    while (!give_up && next < accesses.size() && queue_->outstanding() < depth) {
      prepare(accesses[next], move, iova, next);
      ++next;
    }
    if (queue_->outstanding() == 0) break;
    queue_->ring();
    const unsigned count = controller_.wait(*queue_, done);
    for (unsigned i = 0; i < count; ++i)
      if (!done[i].status.ok() && !failed) failed = done[i];
  }
  if (failed) {
    const Access& access = accesses[failed->tag];
    throw RunError(controller_.name() + ": " + (move == Move::kToMemory ? "Read" : "Compare") +
                   " of " + std::to_string(access.bytes) + " bytes at offset " +
                   std::to_string(access.offset) + " of the buffer: " + failed->status.text());
  }
  return next < accesses.size() ? EINTR : 0;
}

void Drive::release(std::unique_ptr<Drive> drive) {
  // The binding outlives the rest, and restore() is what may fail.
  pci::Binding binding = std::move(drive->binding_);
  drive.reset();
  binding.restore();
}

Drive& DriveSession::open(const std::string& backend) {
  const std::string wanted = backend.empty() ? vfio::iommu::default_backend() : backend;
  if (backend_ != wanted) release();
  backend_ = wanted;
  if (!drive_) drive_ = std::make_unique<Drive>(bdf_, depth_, wanted);
  return *drive_;
}

void DriveSession::release() {
  if (drive_) Drive::release(std::move(drive_));
}

pci::DeviceInfo choose_drive(const std::optional<std::string>& wanted,
                             const std::optional<std::string>& device,
                             const vfio::SystemPaths& paths) {
  if (wanted) {
    const pci::DeviceInfo drive = parse_device("--drive", *wanted, paths);
    if (!nvme::is_nvme(drive))
      throw UsageError("--drive " + *wanted + ": [" + drive.id() +
                       "] is no NVMe controller; allowed: PCI devices of class 0108");
    return drive;
  }
  if (device)
    if (const pci::DeviceInfo given = parse_device("--device", *device, paths);
        nvme::is_nvme(given))
      return given;
  std::vector<pci::DeviceInfo> free;
  std::vector<std::string> all;
  for (const pci::DeviceInfo& found : pci::list_devices(paths)) {
    if (!nvme::is_nvme(found)) continue;
    all.push_back(found.bdf.text() + " (" +
                  (found.driver ? "driver " + *found.driver : std::string("no driver")) + ")");
    if (left_to_us(found) && may_have_iommu(found)) free.push_back(found);
  }
  if (free.size() == 1) return free.front();
  if (all.empty()) throw UsageError("the use_* families need an NVMe drive; there is none");
  throw UsageError(
      "the use_* families need an NVMe drive that holds nothing mounted; pass --drive "
      "with one of " +
      join(all) + "; see pagemix doctor");
}

}  // namespace pagemix::bench
