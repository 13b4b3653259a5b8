// SPDX-License-Identifier: Apache-2.0
// The state file of one binding: what to restore, and whose it is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/pci/bdf.hpp"
#include "process.hpp"

namespace pagemix::vfio::pci {

struct BindingState {
  Bdf bdf;
  std::string new_driver;
  std::optional<std::string> old_driver;
  std::optional<std::string> old_override;
  ProcessIdentity owner;
  /// Type of the IOMMU group's default domain before; absent while it is as it was.
  std::optional<std::string> old_domain = std::nullopt;

  friend bool operator==(const BindingState&, const BindingState&) = default;
};

/// "key=value" lines; absent optionals have no line.
std::string to_text(const BindingState& state);
/// Throws Error (EPROTO) naming `origin` and the fault.
BindingState parse_binding_state(const std::string& text, const std::string& origin);

/// The folder of state files. An object of it holds the folder's lock, so that
/// two processes never work on one device at a time.
class StateFolder {
 public:
  /// Makes the folder if `create`; otherwise a missing folder stays missing,
  /// and is empty.
  StateFolder(std::filesystem::path folder, bool create);

  std::filesystem::path file_of(const Bdf& bdf) const;
  /// Devices that have a state file, ascending.
  std::vector<Bdf> list() const;
  std::optional<BindingState> load(const Bdf& bdf) const;
  /// Replaces the file in one step and waits until it is on disk: a crash
  /// leaves the old file or the new one.
  void save(const BindingState& state) const;
  void remove(const Bdf& bdf) const;

 private:
  std::filesystem::path folder_;
  UniqueFd lock_;
};

}  // namespace pagemix::vfio::pci
