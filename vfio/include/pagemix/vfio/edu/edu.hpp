// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pagemix/vfio/dma_engine.hpp"
#include "pagemix/vfio/pci/device.hpp"

namespace pagemix::vfio::edu {

inline constexpr std::uint16_t vendor_id = 0x1234;
inline constexpr std::uint16_t device_id = 0x11e8;

inline bool is_edu(const pci::DeviceInfo& info) noexcept {
  return info.vendor == vendor_id && info.device == device_id;
}

/// QEMU's teaching device as DMA engine: 4 KiB of own memory, any alignment,
/// 100 ms a transfer. It does not tell when the IOMMU refuses a transfer: a
/// refused write leaves memory as it is, a refused read leaves its own memory
/// undefined.
class Engine final : public DmaEngine {
 public:
  /// `dma_mask` is the value of QEMU's property of that name; the device
  /// silently cuts addresses to it, so that the driver has to check them.
  static constexpr std::uint64_t default_dma_mask = (std::uint64_t{1} << 28) - 1;

  /// Checks identification and liveness (EIO) and enables bus mastering.
  /// `device` outlives the engine. `timeout` bounds wait().
  explicit Engine(pci::Device& device, std::uint64_t dma_mask = default_dma_mask,
                  std::chrono::milliseconds timeout = std::chrono::seconds(10));
  /// Waits for a transfer in flight; then disables bus mastering, so that even
  /// a stuck device cannot write to memory that is used for something else.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::string name() const override { return "edu " + device_.info().bdf.text(); }
  std::uint64_t max_transfer_bytes() const noexcept override;
  std::uint64_t alignment() const noexcept override { return 1; }
  std::uint64_t max_iova() const noexcept override { return dma_mask_; }
  bool keeps_data() const noexcept override { return true; }
  void start_read(std::uint64_t iova, std::uint64_t bytes) override;
  void start_write(std::uint64_t iova, std::uint64_t bytes) override;
  void wait() override;

 private:
  void start(std::uint64_t iova, std::uint64_t bytes, bool to_memory);
  bool running() const;

  pci::Device& device_;
  pci::Bar registers_;
  std::uint64_t dma_mask_;
  std::chrono::milliseconds timeout_;
};

}  // namespace pagemix::vfio::edu
