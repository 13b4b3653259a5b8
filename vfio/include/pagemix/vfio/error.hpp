// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace pagemix::vfio {

/// A failed operation. what() reads "operation object: ERRNAME: explanation".
class Error : public std::system_error {
 public:
  /// `errnum` is a positive errno value. `operation` names what was tried and
  /// on what ("map 10485760 bytes at 0x200000 of container of group 3").
  /// Without an explanation the C library's text for the errno stands.
  Error(int errnum, std::string_view operation, std::string_view explanation = {});

  const char* what() const noexcept override { return text_.c_str(); }
  /// Positive errno value.
  int errnum() const noexcept { return code().value(); }

 private:
  std::string text_;
};

/// The device serves the running system (mounted, swap, device-mapper, md,
/// default route). Thrown before anything was changed. errnum() is EBUSY.
class DeviceInUse : public Error {
 public:
  /// `device` is a BDF; each of `users` is one sentence fragment such as
  /// "nvme0n1p2 is mounted at /".
  DeviceInUse(std::string_view device, std::vector<std::string> users);

  const std::string& device() const noexcept { return device_; }
  const std::vector<std::string>& users() const noexcept { return users_; }

 private:
  std::string device_;
  std::vector<std::string> users_;
};

/// Other devices of the IOMMU group are bound to drivers that do their own
/// DMA. The text names each and the command that frees it. errnum() is EBUSY.
class GroupNotViable : public Error {
 public:
  using Error::Error;
};

/// "EINVAL" for EINVAL; "errno 4711" for a number without a name.
std::string errno_name(int errnum);

/// "0x" and lower-case digits.
std::string hex(unsigned long long value);

}  // namespace pagemix::vfio
