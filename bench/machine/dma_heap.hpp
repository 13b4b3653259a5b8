// SPDX-License-Identifier: Apache-2.0
// Any dma-buf heap by the interface that all of them have (<linux/dma-heap.h>).
#pragma once

#include <cstdint>
#include <string>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// A heap such as /dev/dma_heap/system; what it does is its own policy.
class DmaHeap {
 public:
  /// RunError when the node is not there, is not a heap, or may not be opened.
  explicit DmaHeap(const std::string& node);

  /// One DMA_HEAP_IOCTL_ALLOC. Returns 0, with @p buffer a descriptor the
  /// caller owns, or a positive errno value.
  int try_allocate(std::uint64_t bytes, int& buffer) const noexcept;

  const std::string& node() const { return node_; }
  /// Last part of the node: "system".
  std::string name() const { return node_.substr(node_.rfind('/') + 1); }

 private:
  std::string node_;
  vfio::UniqueFd fd_;
};

}  // namespace pagemix::bench
