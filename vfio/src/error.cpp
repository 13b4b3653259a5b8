// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pagemix::vfio {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

}  // namespace

std::string errno_name(int errnum) {
  const char* name = strerrorname_np(errnum);
  return name != nullptr ? name : "errno " + std::to_string(errnum);
}

std::string hex(unsigned long long value) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%llx", value);
  return text;
}

Error::Error(int errnum, std::string_view operation, std::string_view explanation)
    : std::system_error(errnum, std::generic_category()), text_(operation) {
  text_ += ": " + errno_name(errnum) + ": ";
  text_ += explanation.empty() ? code().message() : std::string(explanation);
}

DeviceInUse::DeviceInUse(std::string_view device, std::vector<std::string> users)
    : Error(EBUSY, "bind " + std::string(device),
            "the device is in use, nothing was changed: " + join(users)),
      device_(device),
      users_(std::move(users)) {}

}  // namespace pagemix::vfio
