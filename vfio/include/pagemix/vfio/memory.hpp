// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace pagemix::vfio {

/// Owns one mmap.
class MappedMemory {
 public:
  MappedMemory() noexcept = default;
  /// Maps `bytes` of `fd` from `offset`, shared; `prot` and errors as mmap(2).
  /// fd -1 gives anonymous memory. Throws Error naming `what`.
  MappedMemory(int fd, std::uint64_t bytes, std::uint64_t offset, int prot, std::string_view what);
  MappedMemory(MappedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    if (this != &other) {
      reset();
      bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
  }
  ~MappedMemory() { reset(); }

  void reset() noexcept;
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  std::byte* data() const noexcept { return bytes_.data(); }
  std::uint64_t size() const noexcept { return bytes_.size(); }

 private:
  std::span<std::byte> bytes_;
};

/// Orders earlier stores to DMA memory before a later register write that
/// starts the device. As the kernel's dma_wmb() with the MMIO accessor.
inline void dma_write_barrier() noexcept {
#if defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("" ::: "memory");  // stores to write-back memory stay in order
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Orders an earlier register read that showed completion before later loads
/// from DMA memory.
inline void dma_read_barrier() noexcept {
#if defined(__aarch64__)
  asm volatile("dmb oshld" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace pagemix::vfio
