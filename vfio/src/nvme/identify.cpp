// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/identify.hpp"

#include <nvme/types.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint16_t oncs_compare = NVME_CTRL_ONCS_COMPARE;
static_assert(sizeof(nvme_id_ctrl) == identify_bytes && sizeof(nvme_id_ns) == identify_bytes &&
              sizeof(nvme_ns_list) == identify_bytes);

template <typename T>
std::unique_ptr<T> copy_of(std::span<const std::byte> data, const char* what) {
  if (data.size() != sizeof(T))
    throw Error(EPROTO, std::string("read Identify ") + what,
                std::to_string(data.size()) + " bytes, expected " + std::to_string(sizeof(T)));
  auto copy = std::make_unique<T>();
  std::memcpy(copy.get(), data.data(), sizeof(T));
  return copy;
}

/// A fixed-size ASCII field, padded with blanks (or by some drives with NULs).
template <std::size_t size>
std::string text_of(const char (&field)[size]) {
  std::string_view text(field, size);
  text = text.substr(0, text.find('\0'));
  const std::size_t last = text.find_last_not_of(' ');
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

}  // namespace

std::string Namespace::unusable() const {
  if (blocks == 0) return "it has no blocks";
  if (metadata_bytes != 0)
    return "its LBA format has " + std::to_string(metadata_bytes) + " bytes of metadata a block";
  if (protected_data) return "its end-to-end protection is on";
  return {};
}

ControllerIdentity parse_controller(std::span<const std::byte> data) {
  const auto id = copy_of<nvme_id_ctrl>(data, "Controller");
  // Required and maximum entry sizes as powers of two: 64 and 16 bytes are
  // mandatory (NVMe base specification 2.0, figure 275, SQES and CQES).
  const auto allows = [](std::uint8_t field, unsigned size) {
    return (field & 0xf) <= size && size <= field >> 4;
  };
  if (!allows(id->sqes, 6) || !allows(id->cqes, 4))
    throw Error(EPROTO, "read Identify Controller",
                "queue entries of SQES " + hex(id->sqes) + " and CQES " + hex(id->cqes) +
                    ", expected to allow 64 and 16 bytes (0x66 and 0x44)");
  return {text_of(id->mn), text_of(id->sn), text_of(id->fr), id->mdts,
          (id->oncs & oncs_compare) != 0};
}

Namespace parse_namespace(std::uint32_t nsid, std::span<const std::byte> data) {
  const auto id = copy_of<nvme_id_ns>(data, "Namespace");
  const std::string operation = "read Identify Namespace " + std::to_string(nsid);
  // FLBAS: bits 3:0, and 6:5 above them where there are more than 16 formats.
  const unsigned format = (id->flbas & 0xfU) | (id->nlbaf > 15 ? (id->flbas >> 5 & 3U) << 4 : 0);
  if (format > id->nlbaf + unsigned{id->nulbaf})
    throw Error(EPROTO, operation,
                "LBA format " + std::to_string(format) + " of " +
                    std::to_string(id->nlbaf + 1 + id->nulbaf));
  const nvme_lbaf& lbaf = id->lbaf[format];
  if (lbaf.ds < 9 || lbaf.ds > 20)
    throw Error(EPROTO, operation,
                "LBA data size 2^" + std::to_string(lbaf.ds) + ", expected 2^9 to 2^20 bytes");
  return {nsid, id->nsze, std::uint32_t{1} << lbaf.ds, lbaf.ms, (id->dps & 7) != 0};
}

std::vector<std::uint32_t> parse_namespace_list(std::span<const std::byte> data) {
  const auto list = copy_of<nvme_ns_list>(data, "Active Namespace list");
  std::vector<std::uint32_t> ids;
  for (const std::uint32_t id : list->ns) {
    if (id == 0) break;
    if (!ids.empty() && id <= ids.back())
      throw Error(EPROTO, "read Identify Active Namespace list",
                  "id " + std::to_string(id) + " after " + std::to_string(ids.back()));
    ids.push_back(id);
  }
  return ids;
}

}  // namespace pagemix::vfio::nvme
