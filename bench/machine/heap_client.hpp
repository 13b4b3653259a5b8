// SPDX-License-Identifier: Apache-2.0
// The heap of pagemix.ko from user space: buffers by mix.
#pragma once

#include <pagemix.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/memory.hpp"
#include "plan/mixes.hpp"

namespace pagemix::bench {

inline constexpr const char* kHeapNode = "/dev/dma_heap/pagemix";

/// How a buffer is made.
struct BufferSpec {
  std::uint64_t bytes = 0;
  std::vector<pagemix_step> steps;
  std::uint32_t layout = PAGEMIX_LAYOUT_BUDDY;
  std::uint64_t seed = 0;
};

/// "scattered" or "buddy" as enum pagemix_layout.
std::uint32_t layout_value(const std::string& name);

/// What the heap behind @p heap_fd says about a buffer. Returns 0 or a positive
/// errno value.
int buffer_info(int heap_fd, int buffer_fd, pagemix_buf_info& info) noexcept;

/// A dma-buf of the heap; its memory is freed when the last descriptor,
/// mapping and attachment are gone.
class Buffer {
 public:
  Buffer(vfio::UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }  ///< for messages

  /// Orders obtained, run count, allocation times. RunError on failure.
  pagemix_buf_info info(int heap_fd) const;
  /// Physically contiguous stretches in buffer order. Needs CAP_SYS_ADMIN.
  std::vector<pagemix_run> runs(int heap_fd) const;
  /// Maps the whole buffer and touches every page, so that a later pin finds
  /// all of them present.
  vfio::MappedMemory map_prefaulted(std::uint64_t bytes) const;

 private:
  vfio::UniqueFd fd_;
  std::string name_;
};

class HeapClient {
 public:
  /// Opens the heap's node. RunError with the command that fixes it when the
  /// module is not loaded or the caller is not root.
  explicit HeapClient(const std::filesystem::path& node = kHeapNode);

  int fd() const { return fd_.get(); }
  /// Kernel limits and the module's version, read when the heap was opened.
  const pagemix_heap_info& info() const { return info_; }

  /// Arguments for try_allocate(), made outside of the measured path.
  static pagemix_alloc request(const BufferSpec& spec);
  /// One PAGEMIX_IOC_ALLOC and nothing else. Returns 0, with request.fd a new
  /// descriptor the caller owns, or a positive errno value.
  int try_allocate(pagemix_alloc& request) const noexcept;
  /// Allocates, or RunError naming @p name (the benchmark or mix) and cause.
  Buffer allocate(const BufferSpec& spec, const std::string& name) const;

 private:
  vfio::UniqueFd fd_;
  pagemix_heap_info info_{};
};

/// Adds chunks_order<k> and runs of one buffer.
void add_buffer_counters(std::map<std::string, double>& counters, const pagemix_buf_info& info);

}  // namespace pagemix::bench
