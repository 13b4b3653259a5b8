// SPDX-License-Identifier: Apache-2.0
// The device under test, bound to what a case needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "machine/target_client.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "pagemix/vfio/pci/binding.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::bench {

/// Binds the device on demand and gives it back at the end, by the bindings'
/// destructors, also after an error or a signal.
class DeviceSession {
 public:
  /// @p ring_capacity: samples of the largest run. Changes nothing yet.
  DeviceSession(const vfio::pci::Bdf& bdf, std::uint32_t ring_capacity);

  /// As it was when it was last bound. Before that, a device without a driver
  /// may lack its IOMMU group: with a device tree the kernel makes the group
  /// when the first driver probes.
  const vfio::pci::DeviceInfo& device() const { return device_; }
  std::string name() const { return device_.bdf.text(); }

  /// Domain mode that module() gives the device from the next call on: strict,
  /// lazy, identity, or "" for the one it had.
  void want_domain(const std::string& mode) { wanted_domain_ = mode; }

  /// The device bound to pagemix.ko, in the wanted domain mode. Errors of
  /// vfio::pci::Binding and TargetClient.
  TargetClient& module();
  /// An address space of this backend (backend_names(); "": the first that the
  /// kernel offers) with the device, bound to vfio-pci. Another backend's ends.
  vfio::iommu::AddressSpace& vfio(const std::string& backend = {});

  /// Gives the device back now; errors are thrown.
  void release();

 private:
  void bind(const std::string& driver);
  void use_domain();

  vfio::pci::DeviceInfo device_;
  std::uint32_t ring_capacity_;
  std::string wanted_domain_;
  std::optional<std::string> own_domain_;  // type in sysfs, known once bound
  // Ends in reverse order: what uses the device before its binding.
  std::optional<vfio::pci::Binding> binding_;
  std::unique_ptr<TargetClient> target_;
  std::string backend_;
  std::unique_ptr<vfio::iommu::AddressSpace> space_;
};

/// Does an IOMMU translate for the device, or may it once a driver is bound?
bool may_have_iommu(const vfio::pci::DeviceInfo& device);

/// The device of a run: @p wanted, or the only one that can be taken without
/// taking it from another driver. UsageError lists the candidates when there is
/// none or more than one.
vfio::pci::DeviceInfo choose_device(const std::optional<std::string>& wanted,
                                    const vfio::SystemPaths& paths = {});

}  // namespace pagemix::bench
