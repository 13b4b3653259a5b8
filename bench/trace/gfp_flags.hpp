// SPDX-License-Identifier: Apache-2.0
// GFP flags by name. Their bits differ between kernels; the format of the trace
// event kmem:mm_page_alloc tells them.
#pragma once

#include <cstdint>
#include <string_view>

namespace pagemix::bench {

/// The bit of a flag such as "__GFP_ZERO" in @p format, the text of the event's
/// file "format"; 0 when it is not told there.
std::uint64_t gfp_flag(std::string_view format, std::string_view name);

/// Tells memory for a buffer by its flags: zeroed and from anywhere, but not
/// movable, unlike what the kernel takes for itself and for processes.
class HeapFlags {
 public:
  /// RunError when @p format does not tell the flags.
  explicit HeapFlags(std::string_view format);
  bool match(std::uint64_t gfp_flags) const { return (gfp_flags & mask_) == wanted_; }

 private:
  std::uint64_t mask_ = 0;
  std::uint64_t wanted_ = 0;
};

}  // namespace pagemix::bench
