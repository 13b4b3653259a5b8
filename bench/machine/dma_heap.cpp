// SPDX-License-Identifier: Apache-2.0
#include "machine/dma_heap.hpp"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>

#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

DmaHeap::DmaHeap(const std::string& node)
    : node_(node), fd_(::open(node.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!fd_ && errno == ENOENT) {
    std::vector<std::string> heaps;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/dma_heap", ignored))
      heaps.push_back(entry.path().string());
    throw RunError("open " + node +
                   ": no such heap; there are: " + (heaps.empty() ? "none" : join(heaps)));
  }
  if (!fd_) throw_errno("open " + node + (errno == EACCES ? " (run as root)" : ""));
}

int DmaHeap::try_allocate(std::uint64_t bytes, int& buffer) const noexcept {
  dma_heap_allocation_data data{};
  data.len = bytes;
  data.fd_flags = O_RDWR | O_CLOEXEC;
  if (ioctl(fd_.get(), DMA_HEAP_IOCTL_ALLOC, &data) != 0) return errno;
  buffer = static_cast<int>(data.fd);
  return 0;
}

}  // namespace pagemix::bench
