// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace pagemix::bench {

/// enum dma_data_direction of a direction's name.
inline std::uint32_t direction_value(const std::string& name) {
  if (name == "to_device") return 1;    // DMA_TO_DEVICE
  if (name == "from_device") return 2;  // DMA_FROM_DEVICE
  return 0;                             // DMA_BIDIRECTIONAL
}

}  // namespace pagemix::bench
