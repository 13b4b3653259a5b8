// SPDX-License-Identifier: Apache-2.0
#include "base/page_order.hpp"

#include <unistd.h>

#include <bit>

namespace pagemix::bench {

unsigned order_of(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes <= page ? 0 : static_cast<unsigned>(std::bit_width(bytes / page) - 1);
}

}  // namespace pagemix::bench
