// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/pci/bdf.hpp"

namespace pagemix::vfio::pci {

/// A PCI function as sysfs shows it.
struct DeviceInfo {
  Bdf bdf;
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;  ///< base class, subclass, interface: 0x010802 is NVMe
  std::optional<std::string> driver;
  std::optional<std::string> driver_override;
  int numa_node = -1;  ///< -1: none

  std::optional<int> iommu_group;  ///< absent: no IOMMU translates for it, or see below
  /// No group yet, but the machine has an IOMMU: with a device tree the kernel
  /// makes the group when the first driver probes the device.
  bool iommu_group_pending = false;
  std::string iommu_group_type;    ///< "DMA", "DMA-FQ", "identity"; empty if not told
  bool no_iommu = false;           ///< the group is VFIO's unsafe no-IOMMU group
  std::vector<Bdf> group_members;  ///< ascending, with this device
  std::string iommu_device;        ///< "smmu3.0x0000000009050000"; empty if none
  std::string iommu_driver;        ///< "arm-smmu-v3", "virtio_iommu", "intel-iommu"; empty if none

  /// "1234:11e8"
  std::string id() const;
  bool is_bridge() const noexcept { return (class_code >> 16) == 0x06; }
  /// An IOMMU that is a PCI function, as AMD's: class 0x08 (system), subclass 0x06.
  bool is_iommu() const noexcept { return (class_code >> 8) == 0x0806; }
};

/// One reason why a device cannot be taken, and what fixes it.
struct Blocker {
  std::string text;
  std::string remedy;  ///< a command or an instruction; empty if nothing helps
};

/// All PCI functions, ascending. Empty if there is no PCI bus.
std::vector<DeviceInfo> list_devices(const SystemPaths& paths = {});

/// One function; throws Error (ENODEV) naming it when there is none.
DeviceInfo read_device(const Bdf& bdf, const SystemPaths& paths = {});

/// Folder of the function in sysfs.
std::filesystem::path device_folder(const Bdf& bdf, const SystemPaths& paths);

/// Everything that speaks against binding `device` to `driver` ("vfio-pci",
/// "pagemix"), all at once, for a report. Empty: bind_device() may be tried.
std::vector<Blocker> blockers(const DeviceInfo& device, const std::string& driver,
                              const SystemPaths& paths = {});

/// Throws GroupNotViable if another device of the IOMMU group is bound to a
/// driver that does its own DMA: the group then cannot be given to VFIO.
void check_group_viable(const DeviceInfo& device, const SystemPaths& paths = {});

}  // namespace pagemix::vfio::pci
