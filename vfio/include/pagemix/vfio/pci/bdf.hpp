// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pagemix::vfio::pci {

/// Address of a PCI function: domain:bus:device.function.
struct Bdf {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;    ///< 0..31
  std::uint8_t function = 0;  ///< 0..7

  /// As sysfs names it: "0000:00:02.0".
  std::string text() const;

  /// Reads "0000:00:02.0" or, in domain 0, "00:02.0" (hexadecimal); nullopt
  /// for anything else.
  static std::optional<Bdf> try_parse(std::string_view text);
  /// try_parse() that throws Error (EINVAL) naming text and allowed form.
  static Bdf parse(std::string_view text);

  friend auto operator<=>(const Bdf&, const Bdf&) = default;
};

}  // namespace pagemix::vfio::pci
