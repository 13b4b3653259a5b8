// SPDX-License-Identifier: Apache-2.0
// Orders of blocks of pages.
#pragma once

#include <cstdint>

namespace pagemix::bench {

/// The order of a block of so many bytes with this kernel's pages, 0 for less
/// than a page.
unsigned order_of(std::uint64_t bytes);

}  // namespace pagemix::bench
