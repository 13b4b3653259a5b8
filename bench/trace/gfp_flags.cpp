// SPDX-License-Identifier: Apache-2.0
#include "trace/gfp_flags.hpp"

#include <charconv>
#include <string>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

std::uint64_t number_at(std::string_view text, std::size_t at, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::uint64_t gfp_flag(std::string_view format, std::string_view name) {
  // {( unsigned long)(( gfp_t)((((1UL))) << (8))), "__GFP_ZERO"}, before Linux 6.8
  // {(unsigned long)((( gfp_t)0x100u)), "__GFP_ZERO"}
  const std::size_t end = format.find("\"" + std::string(name) + "\"}");
  if (end == std::string_view::npos) return 0;
  const std::size_t begin = format.rfind('{', end);
  if (begin == std::string_view::npos) return 0;
  const std::string_view value = format.substr(begin, end - begin);
  constexpr std::string_view kShift = "<< (";
  if (const std::size_t at = value.rfind(kShift); at != std::string_view::npos) {
    const std::uint64_t bit = number_at(value, at + kShift.size(), 10);
    return bit != 0 && bit < 64 ? std::uint64_t{1} << bit : 0;
  }
  const std::size_t at = value.rfind("0x");
  return at == std::string_view::npos ? 0 : number_at(value, at + 2, 16);
}

HeapFlags::HeapFlags(std::string_view format) {
  for (const auto& [name, set] : {std::pair{"__GFP_ZERO", true}, std::pair{"__GFP_HIGHMEM", true},
                                  std::pair{"__GFP_MOVABLE", false}}) {
    const std::uint64_t flag = gfp_flag(format, name);
    if (flag == 0)
      throw RunError(
          std::string("no tracing of pages: the format of kmem:mm_page_alloc does not ") + "tell " +
          name);
    mask_ |= flag;
    if (set) wanted_ |= flag;
  }
}

}  // namespace pagemix::bench
