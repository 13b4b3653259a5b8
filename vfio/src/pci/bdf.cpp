// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/pci/bdf.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::pci {
namespace {

/// Hexadecimal number of `digits_min`..`digits_max` digits that fills `text`.
std::optional<std::uint32_t> hex_field(std::string_view text, std::size_t digits_min,
                                       std::size_t digits_max, std::uint32_t max) {
  if (text.size() < digits_min || text.size() > digits_max) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

}  // namespace

std::string Bdf::text() const {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return buffer;
}

std::optional<Bdf> Bdf::try_parse(std::string_view text) {
  Bdf bdf;
  const std::size_t last_colon = text.rfind(':');
  if (last_colon == std::string_view::npos) return std::nullopt;
  std::string_view bus_text = text.substr(0, last_colon);
  if (const std::size_t colon = bus_text.find(':'); colon != std::string_view::npos) {
    const auto domain = hex_field(bus_text.substr(0, colon), 4, 8, 0xffffffff);
    if (!domain) return std::nullopt;
    bdf.domain = *domain;
    bus_text = bus_text.substr(colon + 1);
  }
  const std::string_view slot = text.substr(last_colon + 1);
  if (slot.size() != 4 || slot[2] != '.') return std::nullopt;
  const auto bus = hex_field(bus_text, 2, 2, 0xff);
  const auto device = hex_field(slot.substr(0, 2), 2, 2, 0x1f);
  const auto function = hex_field(slot.substr(3), 1, 1, 7);
  if (!bus || !device || !function) return std::nullopt;
  bdf.bus = static_cast<std::uint8_t>(*bus);
  bdf.device = static_cast<std::uint8_t>(*device);
  bdf.function = static_cast<std::uint8_t>(*function);
  return bdf;
}

Bdf Bdf::parse(std::string_view text) {
  if (const auto bdf = try_parse(text)) return *bdf;
  throw Error(EINVAL, "read PCI address '" + std::string(text) + "'",
              "allowed: domain:bus:device.function in hexadecimal, as 0000:00:02.0 or 00:02.0");
}

}  // namespace pagemix::vfio::pci
