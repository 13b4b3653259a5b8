// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/pci/bdf.hpp"
#include "pagemix/vfio/pci/in_use.hpp"

namespace pagemix::vfio::pci {

/// Surroundings of a binding; the defaults are those of a running system.
struct BindOptions {
  SystemPaths paths;
  /// State files <bdf>.binding; made on demand. On a tmpfs, so that a reboot,
  /// which undoes every binding, empties it too.
  std::filesystem::path state_folder = "/run/pagemix";
  /// Writes a sysfs attribute; 0 or a positive errno value.
  std::function<int(const std::filesystem::path&, const std::string&)> write = write_attribute;
  ExclusiveProbe probe = has_exclusive_user;
};

/// Holds a device on another driver. The old driver, driver_override and type
/// of the IOMMU group's domain come back with restore() or destruction; after a crash
/// restore_stale_bindings() of the next start does it.
///
/// A program that a signal shall end unwinds: it notes the signal and returns. A
/// handler cannot restore, it would wait for descriptors of its own process.
///
/// Close everything of the device first: a device does not leave vfio-pci
/// while a descriptor or a BAR mapping is open, the destructor would wait.
class Binding {
 public:
  /// Binds `bdf` to `driver` ("vfio-pci", "pagemix") by driver_override. A
  /// device that has the driver already is left as it is, now and at the end.
  /// Throws, with nothing changed:
  ///   DeviceInUse       the running system uses it
  ///   GroupNotViable    only for vfio drivers: see check_group_viable()
  ///   Error             ENODEV no such device, ENOENT driver not loaded,
  ///                     EINVAL bridge, EBUSY bound by another process; the
  ///                     errno of the driver's probe otherwise
  Binding(const Bdf& bdf, const std::string& driver, BindOptions options = {});
  Binding(Binding&& other) noexcept;
  Binding& operator=(Binding&&) = delete;

  /// Restores; a failure goes to stderr and the state file stays. Does nothing
  /// in a child made by fork().
  ~Binding();

  /// Gives the device's IOMMU group a default domain of @p type, as sysfs names
  /// it: "DMA" (strict), "DMA-FQ" (lazy), "identity". The device leaves its
  /// driver meanwhile, as the kernel demands it for all but DMA to DMA-FQ, and
  /// gets it back. Close everything of the device first. Throws
  ///   GroupNotViable  another device of the group has a driver
  ///   Error           ENODEV no group, EPERM the group is in use, EINVAL or
  ///                   ENOTSUP the IOMMU does not offer the type
  void set_domain(const std::string& type);

  /// Gives the device back now; throws Error. May be called again.
  void restore();

  const Bdf& bdf() const noexcept { return bdf_; }
  const std::string& driver() const noexcept { return driver_; }
  /// False if there is nothing to restore: the device had driver and domain
  /// before, or restore() was called.
  bool active() const noexcept { return active_; }

 private:
  Bdf bdf_;
  std::string driver_;
  BindOptions options_;
  int owner_pid_;
  bool active_ = false;
};

/// Undoes bindings whose process is gone (by pid and start time, or by a boot
/// since). Returns one line per state file on what was done or why not:
/// "0000:00:02.0: restored driver nvme (process 4711 is gone)". Bindings of
/// living processes are left alone and not mentioned.
std::vector<std::string> restore_stale_bindings(const BindOptions& options = {});

}  // namespace pagemix::vfio::pci
