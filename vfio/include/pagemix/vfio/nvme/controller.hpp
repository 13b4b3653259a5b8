// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/iommu/fault_log.hpp"
#include "pagemix/vfio/iommu/iova.hpp"
#include "pagemix/vfio/nvme/identify.hpp"
#include "pagemix/vfio/nvme/queue.hpp"
#include "pagemix/vfio/nvme/registers.hpp"
#include "pagemix/vfio/pci/device.hpp"

namespace pagemix::vfio::nvme {

/// PCI class code of NVM Express I/O controllers.
inline constexpr std::uint32_t class_code = 0x010802;

inline bool is_nvme(const pci::DeviceInfo& info) noexcept { return info.class_code == class_code; }

struct ControllerOptions {
  /// Bounds every command; a drive in error recovery may take seconds.
  std::chrono::milliseconds command_timeout = std::chrono::seconds(10);
  /// I/O queue pairs to ask the controller for: 1..64.
  std::uint32_t max_queues = 64;
};

/// A polled, read-only driver of one NVMe controller.
///
/// Construction resets the controller, whatever state it was left in, and
/// identifies it. Destruction stops it: all its DMA has ended before the
/// queues' memory is unmapped.
///
/// After an Error of ENODEV, EIO or ETIMEDOUT from wait() or make_queue() the
/// controller is stopped: commands that were in flight are named in the text,
/// their memory is not used any more, and every further call throws EIO. Make
/// a new Controller to go on.
class Controller {
 public:
  /// `device` is bound to vfio-pci and opened in `space`; all three outlive
  /// the controller. Throws Error: ENODEV no NVMe controller or not there any
  /// more, EIO fatal status, ETIMEDOUT, ENOTSUP pages that `space` cannot map.
  Controller(iommu::AddressSpace& space, iommu::IovaAllocator& iovas, pci::Device& device,
             const ControllerOptions& options = {});
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// "nvme 0000:00:02.0"
  const std::string& name() const noexcept { return name_; }
  const ControllerIdentity& identity() const noexcept { return identity_; }
  const Capabilities& capabilities() const noexcept { return registers_.capabilities(); }
  /// The controller's page, to which PRP entries are aligned: CC.MPS.
  std::uint64_t page_bytes() const noexcept { return page_bytes_; }
  /// Longest transfer the controller takes (MDTS); ~0 without limit.
  std::uint64_t max_transfer_bytes() const noexcept { return max_transfer_bytes_; }
  /// Longest queue: QueueOptions::depth goes up to it.
  std::uint32_t max_depth() const noexcept;
  /// I/O queue pairs that make_queue() can make in all.
  std::uint32_t max_queues() const noexcept { return max_queues_; }

  /// Active namespaces, ascending by id.
  std::span<const Namespace> namespaces() const noexcept { return namespaces_; }
  /// One of them, 0 for the first usable; throws Error (ENOENT) naming those there are.
  const Namespace& find_namespace(std::uint32_t nsid = 0) const;

  /// Makes an I/O queue pair. The reference is valid until remove_queue() or
  /// the end of the controller. Throws Error: EINVAL a limit is broken
  /// (named), ENOSPC all queues made, ENOTSUP namespace with metadata.
  IoQueue& make_queue(const Namespace& ns, const QueueOptions& options = {});
  /// Deletes a queue pair, which has nothing outstanding (EBUSY).
  void remove_queue(IoQueue& queue);

  /// Polls `queue` until at least one completion is there; returns how many
  /// were reaped. The fast case is one IoQueue::poll(). EINVAL with nothing
  /// outstanding. ENODEV, EIO, ETIMEDOUT: see above.
  unsigned wait(IoQueue& queue, std::span<Completion> completions);
  /// Reaps everything outstanding; throws Error (EIO) naming command and
  /// status if one failed. A failed Compare counts as failed.
  void drain(IoQueue& queue);

  /// Throws Error (EFAULT) naming the IOVA if the kernel logged that the IOMMU
  /// refused an access of this device since construction or the last call. A
  /// device may report success all the same: QEMU's does. Waits up to `grace`
  /// for the kernel's message, which comes later than the completion.
  void check_faults(std::chrono::milliseconds grace = {});

  /// Stops the controller; wait() and make_queue() throw from now on.
  void stop() noexcept;

 private:
  struct Admin;
  struct QueuePair;
  /// Why waiting has to end.
  enum class Trouble { none, gone, removal, fatal, late };

  static pci::Bar map_registers(pci::Device& device);
  void start();
  void identify();
  std::uint32_t execute(const AdminCommand& command);
  std::uint64_t checked_transfer(const Namespace& ns, const QueueOptions& options,
                                 const std::string& operation) const;
  void require_running(const std::string& operation) const;
  Trouble trouble(std::chrono::steady_clock::time_point end) const;
  [[noreturn]] void fail(const std::string& operation, Trouble found,
                         const std::vector<InFlight>& commands);
  bool is_own(const iommu::Fault& fault) const;

  iommu::AddressSpace& space_;
  iommu::IovaAllocator& iovas_;
  pci::Device& device_;
  ControllerOptions options_;
  std::string name_;
  iommu::FaultLog faults_;
  Registers registers_;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t max_transfer_bytes_ = 0;
  std::uint32_t max_queues_ = 0;
  std::uint32_t waits_ = 0;
  bool running_ = false;
  std::unique_ptr<Admin> admin_;
  ControllerIdentity identity_;
  std::vector<Namespace> namespaces_;
  std::vector<std::unique_ptr<QueuePair>> queues_;
};

}  // namespace pagemix::vfio::nvme
