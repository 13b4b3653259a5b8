// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pagemix::vfio::nvme {

/// Bytes of every Identify data structure.
inline constexpr std::uint64_t identify_bytes = 4096;

/// A namespace and the LBA format it has now.
struct Namespace {
  std::uint32_t nsid = 0;
  std::uint64_t blocks = 0;          ///< NSZE
  std::uint32_t block_bytes = 0;     ///< LBA data size, a power of two of at least 512
  std::uint32_t metadata_bytes = 0;  ///< per block
  bool protected_data = false;       ///< end-to-end protection is on

  std::uint64_t bytes() const noexcept { return blocks * block_bytes; }
  /// Text on why it cannot be read here; empty if it can.
  std::string unusable() const;
};

/// What Identify Controller tells.
struct ControllerIdentity {
  std::string model;
  std::string serial;
  std::string firmware;
  std::uint8_t mdts = 0;  ///< transfers of up to 1 << mdts minimum pages; 0: no limit
  bool compare = false;   ///< Compare is supported (ONCS)
};

/// Read the structures from `data` of identify_bytes. Throw Error (EPROTO)
/// naming the field that makes no sense.
ControllerIdentity parse_controller(std::span<const std::byte> data);
Namespace parse_namespace(std::uint32_t nsid, std::span<const std::byte> data);
/// Ids in ascending order, up to the first 0.
std::vector<std::uint32_t> parse_namespace_list(std::span<const std::byte> data);

}  // namespace pagemix::vfio::nvme
