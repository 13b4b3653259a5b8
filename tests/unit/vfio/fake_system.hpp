// SPDX-License-Identifier: Apache-2.0
// A /sys, /proc and /dev of files in a temporary folder, and a kernel that
// reacts to what the library writes there.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pagemix/vfio/vfio.hpp"

namespace pagemix::vfio::test {

class FakeSystem {
 public:
  FakeSystem();
  ~FakeSystem();
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  SystemPaths paths() const { return {root_ / "sys", root_ / "proc", root_ / "dev"}; }
  /// Options whose writes go through write(); nothing is opened exclusively.
  pci::BindOptions options();
  std::filesystem::path state_folder() const { return root_ / "run/pagemix"; }

  void put(const std::filesystem::path& relative, const std::string& text) const;
  void link(const std::filesystem::path& relative, const std::filesystem::path& target) const;

  /// A function below host bridge 0; `id` "1234:11e8", `class_code` "0x00ff00".
  void add_pci(const std::string& bdf, const std::string& id, const std::string& class_code);
  void add_driver(const std::string& name);
  /// Empty: no driver.
  void set_driver(const std::string& bdf, const std::string& name);
  void add_group(int number, const std::vector<std::string>& bdfs, const std::string& type);
  /// A block device in folder `parent` of sys/devices with its node in dev.
  void add_block(const std::string& parent, const std::string& name, const std::string& number);
  void add_holder(const std::string& lower, const std::string& upper);
  void add_net(const std::string& parent, const std::string& name);
  /// sys/devices folder of a function: "pci0000:00/0000:00:02.0".
  static std::string folder_of(const std::string& bdf) { return "pci0000:00/" + bdf; }

  std::string driver_of(const std::string& bdf) const;
  std::string override_of(const std::string& bdf) const;

  /// What the kernel does for a write to bind, unbind, driver_override and a group's type.
  int write(const std::filesystem::path& path, const std::string& text);
  /// Called before each write with its number, from 1; non-zero fails it.
  std::function<int(int)> before_write;
  /// Drivers that fail to probe, with this errno.
  std::vector<std::pair<std::string, int>> probe_failures;
  /// Types of a domain that groups do not take, with this errno; 0: kept without an error.
  std::map<std::string, int> type_failures;
  /// Every write: "unbind nvme", "override vfio-pci", "bind vfio-pci", "domain DMA-FQ".
  std::vector<std::string> log;

 private:
  int set_type(const std::filesystem::path& path, const std::string& text);

  std::filesystem::path root_;
  int writes_ = 0;
};

}  // namespace pagemix::vfio::test
