// SPDX-License-Identifier: Apache-2.0
// The bytes of target nvme-file's drive; guest/pagemix_guest/pattern.py writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pagemix::test {

/// The first `bytes` (a multiple of 8) of the drive.
inline std::vector<std::byte> drive_pattern(std::uint64_t bytes) {
  std::vector<std::byte> pattern(bytes);
  for (std::uint64_t i = 0; i < bytes / 8; ++i) {
    const std::uint64_t word = (i + 1) * 0x9e3779b97f4a7c15U;
    std::memcpy(pattern.data() + i * 8, &word, sizeof word);
  }
  return pattern;
}

}  // namespace pagemix::test
