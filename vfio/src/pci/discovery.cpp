// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/pci/discovery.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/pci/in_use.hpp"

namespace fs = std::filesystem;

namespace pagemix::vfio::pci {
namespace {

std::uint32_t read_hex(const fs::path& path) {
  return static_cast<std::uint32_t>(
      std::strtoul(read_line(path).value_or("0").c_str(), nullptr, 16));
}

/// Driver of the IOMMU whose class device is `iommu` (.../iommu/<name>). Those
/// of x86 are no devices of a bus and are known by their names.
std::string iommu_driver_of(const fs::path& iommu, const std::string& name) {
  if (const auto driver = link_name(iommu / "device/driver")) return *driver;
  if (name.starts_with("dmar")) return "intel-iommu";
  if (name.starts_with("ivhd")) return "amd-iommu";
  return {};
}

std::vector<Bdf> bdfs_in(const fs::path& folder) {
  std::vector<Bdf> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const auto bdf = Bdf::try_parse(entry.path().filename().string())) found.push_back(*bdf);
  std::sort(found.begin(), found.end());
  return found;
}

void read_iommu(DeviceInfo& info, const fs::path& folder, const SystemPaths& paths) {
  if (const auto name = link_name(folder / "iommu")) {
    info.iommu_device = *name;
    info.iommu_driver = iommu_driver_of(folder / "iommu", *name);
  }
  const auto group = link_name(folder / "iommu_group");
  if (!group) {
    std::error_code error;
    info.iommu_group_pending =
        !info.driver && !info.is_bridge() && !info.is_iommu() &&
        fs::directory_iterator(paths.sys / "class/iommu", error) != fs::directory_iterator();
    return;
  }
  info.iommu_group = std::atoi(group->c_str());
  info.iommu_group_type = read_line(folder / "iommu_group/type").value_or("");
  info.no_iommu = read_line(folder / "iommu_group/name") == "vfio-noiommu";
  info.group_members = bdfs_in(folder / "iommu_group/devices");
}

/// Drivers that leave DMA of their device alone, so that the rest of its group
/// can be given to user space (driver_managed_dma in the kernel).
bool leaves_dma_alone(const std::string& driver) {
  return driver.find("vfio") != std::string::npos || driver == "pci-stub" || driver == "pcieport";
}

struct Neighbour {
  Bdf bdf;
  std::string driver;
  std::string remedy;
};

/// Other devices of the group whose drivers keep it from VFIO.
std::vector<Neighbour> group_holders(const DeviceInfo& device, const SystemPaths& paths) {
  std::vector<Neighbour> holders;
  for (const Bdf& member : device.group_members) {
    if (member == device.bdf) continue;
    const auto driver = link_name(device_folder(member, paths) / "driver");
    if (driver && !leaves_dma_alone(*driver))
      holders.push_back({member, *driver,
                         "echo " + member.text() + " > /sys/bus/pci/devices/" + member.text() +
                             "/driver/unbind"});
  }
  return holders;
}

}  // namespace

std::string DeviceInfo::id() const {
  char text[16];
  std::snprintf(text, sizeof text, "%04x:%04x", vendor, device);
  return text;
}

fs::path device_folder(const Bdf& bdf, const SystemPaths& paths) {
  return paths.sys / "bus/pci/devices" / bdf.text();
}

DeviceInfo read_device(const Bdf& bdf, const SystemPaths& paths) {
  const fs::path folder = device_folder(bdf, paths);
  std::error_code error;
  if (!fs::exists(folder / "vendor", error))
    throw Error(
        ENODEV, "find PCI device " + bdf.text(),
        "no such device in " + (paths.sys / "bus/pci/devices").string() + "; lspci -D lists them");
  DeviceInfo info;
  info.bdf = bdf;
  info.vendor = static_cast<std::uint16_t>(read_hex(folder / "vendor"));
  info.device = static_cast<std::uint16_t>(read_hex(folder / "device"));
  info.class_code = read_hex(folder / "class");
  info.driver = link_name(folder / "driver");
  const auto override_text = read_line(folder / "driver_override");
  if (override_text && !override_text->empty() && *override_text != "(null)")
    info.driver_override = override_text;
  info.numa_node = std::atoi(read_line(folder / "numa_node").value_or("-1").c_str());
  read_iommu(info, folder, paths);
  return info;
}

std::vector<DeviceInfo> list_devices(const SystemPaths& paths) {
  std::vector<DeviceInfo> devices;
  for (const Bdf& bdf : bdfs_in(paths.sys / "bus/pci/devices"))
    devices.push_back(read_device(bdf, paths));
  return devices;
}

void check_group_viable(const DeviceInfo& device, const SystemPaths& paths) {
  std::string text;
  for (const Neighbour& holder : group_holders(device, paths))
    text += (text.empty() ? "" : "; ") + holder.bdf.text() + " (driver " + holder.driver +
            ") is in the same group: " + holder.remedy;
  if (!text.empty())
    throw GroupNotViable(EBUSY,
                         "use IOMMU group " + std::to_string(device.iommu_group.value_or(-1)) +
                             " of " + device.bdf.text(),
                         text);
}

std::vector<Blocker> blockers(const DeviceInfo& device, const std::string& driver,
                              const SystemPaths& paths) {
  std::vector<Blocker> found;
  const bool for_vfio = driver.find("vfio") != std::string::npos;
  if (device.is_bridge()) found.push_back({"it is a bridge", ""});
  if (!device.iommu_group && !device.iommu_group_pending)
    found.push_back({"no IOMMU translates for it",
                     "enable the IOMMU in firmware; on Intel boot with intel_iommu=on"});
  if (device.no_iommu)
    found.push_back({"its group is VFIO's no-IOMMU group",
                     "echo 0 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode"});
  std::error_code error;
  if (!fs::exists(paths.sys / "bus/pci/drivers" / driver, error))
    found.push_back({"driver " + driver + " is not loaded", "modprobe " + driver});
  for (std::string& user : device_users(device.bdf, paths))
    found.push_back({std::move(user), "take it out of use first (umount, swapoff, ip route)"});
  if (for_vfio)
    for (Neighbour& holder : group_holders(device, paths))
      found.push_back({"it shares IOMMU group " + std::to_string(*device.iommu_group) + " with " +
                           holder.bdf.text() + " (driver " + holder.driver + ")",
                       std::move(holder.remedy)});
  return found;
}

}  // namespace pagemix::vfio::pci
