// SPDX-License-Identifier: Apache-2.0
// Mixes: which page orders the heap tries, and how hard.
#pragma once

#include <pagemix.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plan/ini.hpp"

namespace pagemix::bench {

/// Largest order that is accepted while the kernel's is not known: 4 MiB chunks
/// on 4 KiB pages, MAX_PAGE_ORDER of a kernel with default settings.
inline constexpr unsigned kDefaultMaxOrder = 10;

struct Mix {
  std::string name;
  std::vector<pagemix_step> steps;  ///< 1..PAGEMIX_MAX_STEPS, orders never increase
  std::string where;                ///< "mixes.ini:7"
};

/// "8:high 4:high 0:low"
std::string format_steps(const Mix& mix);

/// Bytes of the mix's last order: what it fills is a multiple of that.
std::uint64_t smallest_chunk(const Mix& mix, std::uint64_t page_bytes);

/// Reads `8:high 4:high 0:low`. UsageError "<where>: ..." names the bad step,
/// its value and what is allowed. @p max_order is the kernel's limit.
std::vector<pagemix_step> parse_steps(const std::string& text, const std::string& where,
                                      unsigned max_order);

/// One mix a section with the key `steps`. UsageError names file and line.
std::vector<Mix> mixes_of(const Ini& ini, unsigned max_order);
std::vector<Mix> load_mixes(const std::filesystem::path& file, unsigned max_order);

}  // namespace pagemix::bench
