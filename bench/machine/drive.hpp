// SPDX-License-Identifier: Apache-2.0
// The NVMe drive whose controller is the DMA engine of the use_* families.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "pagemix/vfio/iommu/backend.hpp"
#include "pagemix/vfio/iommu/iova.hpp"
#include "pagemix/vfio/nvme/controller.hpp"
#include "pagemix/vfio/pci/binding.hpp"
#include "pagemix/vfio/pci/device.hpp"
#include "pagemix/vfio/pci/discovery.hpp"
#include "plan/access_order.hpp"

namespace pagemix::bench {

/// Direction of the device's DMA. Nothing is ever written to the drive: it
/// reads memory by Compare.
enum class Move {
  kToMemory,    ///< Read: the device writes the buffer
  kFromMemory,  ///< Compare: the device reads the buffer
};

/// Commands in flight where a family does not say otherwise.
inline constexpr std::uint32_t kUseDepth = 32;

/// A drive bound to vfio-pci, its controller running, with one I/O queue.
class Drive {
 public:
  /// Takes the device from its driver; gives it back when destroyed. Errors of
  /// vfio::pci::Binding, make_address_space(@p backend) and nvme::Controller; RunError
  /// when the controller's queues are shorter than @p depth.
  Drive(const vfio::pci::Bdf& bdf, std::uint32_t depth, const std::string& backend);

  vfio::iommu::AddressSpace& space() { return *space_; }
  vfio::iommu::IovaAllocator& iovas() { return iovas_; }
  const vfio::pci::DeviceInfo& device() const { return info_; }

  /// A block is an LBA; the largest transfer is the queue's.
  TransferLimits limits() const;
  bool compares() const { return controller_.identity().compare; }
  std::uint64_t namespace_bytes() const { return queue_->ns().bytes(); }
  std::uint32_t depth() const { return queue_->depth(); }
  /// {device, id, model, firmware, block_bytes, namespace_bytes, max_transfer_bytes}
  nlohmann::ordered_json json() const;

  /// Makes the device do @p accesses in this order, at most @p depth of them in
  /// flight, on the buffer mapped at @p iova, and waits for all. The block at
  /// offset o of the buffer is block o / block_bytes of the drive, so that a
  /// buffer filled by Reads compares equal. Returns 0, or EINTR when the user
  /// gave up (nothing is in flight then). Throws RunError naming command and
  /// status (also a Compare that finds a difference), vfio::Error when the
  /// controller fails.
  int transfer(std::span<const Access> accesses, Move move, std::uint64_t iova,
               std::uint32_t depth);

  /// Throws vfio::Error naming the address if the IOMMU refused an access.
  void check_faults() { controller_.check_faults(); }

  /// Stops the controller and gives the device back; errors are thrown.
  static void release(std::unique_ptr<Drive> drive);

 private:
  void prepare(const Access& access, Move move, std::uint64_t iova, std::uint64_t tag);

  // Ends in reverse order: what uses the device before its binding.
  vfio::pci::Binding binding_;
  vfio::pci::DeviceInfo info_;
  std::unique_ptr<vfio::iommu::AddressSpace> space_;
  vfio::iommu::IovaAllocator iovas_;
  vfio::pci::Device device_;
  vfio::nvme::Controller controller_;
  vfio::nvme::IoQueue* queue_;
  unsigned block_shift_;
};

/// Opens the drive on demand.
class DriveSession {
 public:
  /// @p depth: commands in flight at most. Changes nothing yet.
  DriveSession(const vfio::pci::Bdf& bdf, std::uint32_t depth) : bdf_(bdf), depth_(depth) {}

  const vfio::pci::Bdf& bdf() const { return bdf_; }
  /// The drive in an address space of this backend ("": the first that the kernel
  /// offers); one of another backend is released before.
  Drive& open(const std::string& backend = {});
  bool is_open() const { return drive_ != nullptr; }
  /// Gives the drive back now; errors are thrown. The next open() takes it again.
  void release();

 private:
  vfio::pci::Bdf bdf_;
  std::uint32_t depth_;
  std::string backend_;
  std::unique_ptr<Drive> drive_;
};

/// The drive of a run: @p wanted (--drive), or @p device (--device) if that is
/// an NVMe controller, or the only NVMe controller behind an IOMMU that has no
/// driver or was left to pagemix or vfio-pci. UsageError tells what to pass
/// when there is none or more than one, or when the given one is no drive.
vfio::pci::DeviceInfo choose_drive(const std::optional<std::string>& wanted,
                                   const std::optional<std::string>& device,
                                   const vfio::SystemPaths& paths = {});

}  // namespace pagemix::bench
