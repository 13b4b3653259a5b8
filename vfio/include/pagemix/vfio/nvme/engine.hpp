// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "pagemix/vfio/dma_engine.hpp"
#include "pagemix/vfio/nvme/controller.hpp"

namespace pagemix::vfio::nvme {

/// A namespace as DMA engine, one command at a time, at LBA 0 and up.
/// start_write() (device to memory) is a Read; start_read() (memory to device)
/// is a Compare, as nothing is ever written to the drive. A Compare that finds
/// a difference still is a complete transfer: the device had to read memory to
/// find it. A controller may stop reading at the first difference; compare
/// memory that a Read of the same blocks filled to be sure of all of it.
class Engine final : public DmaEngine {
 public:
  /// Makes a queue of its own on `ns`. `controller` outlives the engine.
  /// Throws as make_queue(), and ENOTSUP without Compare.
  Engine(Controller& controller, const Namespace& ns);
  /// Waits for a transfer in flight.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::string name() const override { return controller_.name(); }
  std::uint64_t max_transfer_bytes() const noexcept override;
  std::uint64_t alignment() const noexcept override { return queue_.ns().block_bytes; }
  std::uint64_t max_iova() const noexcept override { return ~std::uint64_t{0}; }
  bool keeps_data() const noexcept override { return false; }
  void start_read(std::uint64_t iova, std::uint64_t bytes) override;
  void start_write(std::uint64_t iova, std::uint64_t bytes) override;
  /// Also reports accesses that the IOMMU refused, as Controller::check_faults().
  void wait() override;
  /// Whether the last awaited start_read() found memory and medium equal.
  bool last_compare_equal() const noexcept { return equal_; }

 private:
  void start(std::uint64_t iova, std::uint64_t bytes, bool compare);

  Controller& controller_;
  IoQueue& queue_;
  bool equal_ = true;
};

}  // namespace pagemix::vfio::nvme
