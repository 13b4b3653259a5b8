// SPDX-License-Identifier: Apache-2.0
// Phase markers: lines around a measured loop that QEMU records among its trace
// events, so that events can be attributed (docs/result-format.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

class Marker {
 public:
  /// Writes nothing.
  Marker() = default;
  /// Appends to @p file, usually a serial port. RunError when it cannot be opened.
  explicit Marker(const std::filesystem::path& file);

  /// The next operation is measured. Returns when the device has sent the line.
  void begin(const std::string& name, std::uint32_t block) const;
  void end(const std::string& name, std::uint32_t block, std::uint64_t iterations) const;

 private:
  void write(const std::string& line) const;

  std::string name_;
  vfio::UniqueFd fd_;
};

}  // namespace pagemix::bench
