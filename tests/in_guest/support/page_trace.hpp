// SPDX-License-Identifier: Apache-2.0
// Which pages a heap took, told by the kernel and not by the heap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace pagemix::test {

/// Chunks by order.
using Orders = std::map<unsigned, std::uint64_t>;

/// Chunks in the text of a trace of kmem:mm_page_alloc: zeroed pages for user
/// space that were granted. What a call needs beside them, such as slabs, page
/// tables and lists, asks without highmem or zeroing; a refused request has pfn 0.
Orders parse_page_allocs(const std::string& trace);

/// Watches the allocations of this process. std::runtime_error when tracefs is
/// not mounted, in use, or without the event.
class PageTrace {
 public:
  PageTrace();
  /// Everything as it was.
  ~PageTrace();
  PageTrace(const PageTrace&) = delete;
  PageTrace& operator=(const PageTrace&) = delete;

  /// Chunks that were allocated while @p action ran.
  Orders during(const std::function<void()>& action);

 private:
  std::string tracing_on_;  // before
};

}  // namespace pagemix::test
