// SPDX-License-Identifier: Apache-2.0
// Registers as in QEMU's docs/specs/edu.rst.
#include "pagemix/vfio/edu/edu.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <thread>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::edu {
namespace {

// Below 0x80 only 4-byte accesses, from 0x80 on 4 or 8 bytes.
constexpr std::uint64_t reg_identification = 0x00;  // 0xRRrr00ed: major, minor version
constexpr std::uint64_t reg_liveness = 0x04;        // reads the inverse of what was written
constexpr std::uint64_t reg_dma_source = 0x80;
constexpr std::uint64_t reg_dma_target = 0x88;
constexpr std::uint64_t reg_dma_count = 0x90;
constexpr std::uint64_t reg_dma_command = 0x98;

constexpr std::uint64_t command_run = 0x01;
constexpr std::uint64_t command_to_memory = 0x02;  // else from memory to the device

constexpr std::uint64_t device_memory = 0x40000;  // in DMA registers only, not in the BAR

// The device has 4096 bytes, but QEMU before 9.1 takes a transfer that ends
// with the last one for out of bounds and ends itself (hw_error).
constexpr std::uint64_t max_bytes = 2048;

constexpr std::uint32_t liveness_probe = 0x5a17c0de;

}  // namespace

Engine::Engine(pci::Device& device, std::uint64_t dma_mask, std::chrono::milliseconds timeout)
    : device_(device), registers_(device.map_bar(0)), dma_mask_(dma_mask), timeout_(timeout) {
  const auto identification = registers_.read<std::uint32_t>(reg_identification);
  if ((identification & 0xffff) != 0x00ed)
    throw Error(
        EIO, "start " + name(),
        "the identification register reads " + hex(identification) + ", expected 0xRRrr00ed");
  registers_.write<std::uint32_t>(reg_liveness, liveness_probe);
  const auto answer = registers_.read<std::uint32_t>(reg_liveness);
  if (answer != ~liveness_probe)
    throw Error(EIO, "start " + name(),
                "the liveness register reads " + hex(answer) + " after writing " +
                    hex(liveness_probe) + ", expected " + hex(~liveness_probe));
  // A transfer that a former user left running must not see bus mastering.
  wait();
  device_.enable_bus_master();
}

Engine::~Engine() {
  try {
    wait();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
  try {
    device_.disable_bus_master();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
}

std::uint64_t Engine::max_transfer_bytes() const noexcept { return max_bytes; }

bool Engine::running() const {
  return (registers_.read<std::uint64_t>(reg_dma_command) & command_run) != 0;
}

void Engine::start(std::uint64_t iova, std::uint64_t bytes, bool to_memory) {
  const std::string operation = std::string(to_memory ? "write " : "read ") +
                                std::to_string(bytes) + " bytes at " + hex(iova) + " by " + name();
  if (bytes == 0 || bytes > max_bytes)
    throw Error(EINVAL, operation, "allowed: 1.." + std::to_string(max_bytes) + " bytes");
  if (iova > dma_mask_ || bytes - 1 > dma_mask_ - iova)
    throw Error(ERANGE, operation,
                "beyond the DMA mask, allowed: IOVA 0x0-" + hex(dma_mask_) +
                    "; the device would cut the address");
  if (running()) throw Error(EBUSY, operation, "a transfer is in flight");
  registers_.write<std::uint64_t>(reg_dma_source, to_memory ? device_memory : iova);
  registers_.write<std::uint64_t>(reg_dma_target, to_memory ? iova : device_memory);
  registers_.write<std::uint64_t>(reg_dma_count, bytes);
  dma_write_barrier();
  registers_.write<std::uint64_t>(reg_dma_command,
                                  command_run | (to_memory ? command_to_memory : 0));
}

void Engine::start_read(std::uint64_t iova, std::uint64_t bytes) { start(iova, bytes, false); }

void Engine::start_write(std::uint64_t iova, std::uint64_t bytes) { start(iova, bytes, true); }

void Engine::wait() {
  // Sleeping, not spinning: under -icount the guest's time stands still for a
  // sleeping processor only as long as QEMU has nothing else to do, while a
  // spinning one pays an instruction for each nanosecond of the 100 ms.
  const auto end = std::chrono::steady_clock::now() + timeout_;
  while (running()) {
    if (std::chrono::steady_clock::now() >= end)
      throw Error(ETIMEDOUT, "wait for " + name(),
                  "the transfer did not end within " + std::to_string(timeout_.count()) + " ms");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  dma_read_barrier();
}

}  // namespace pagemix::vfio::edu
