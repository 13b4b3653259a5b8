// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cstring>

namespace pagemix::bench {

std::string errno_text(int code) {
  const char* name = strerrorname_np(code);
  return std::string(name != nullptr ? name : "errno " + std::to_string(code)) + ": " +
         std::strerror(code);
}

void throw_errno(std::string_view what, int code) {
  throw RunError(std::string(what) + ": " + errno_text(code), code);
}

}  // namespace pagemix::bench
