// SPDX-License-Identifier: Apache-2.0
// What decides a result besides the profile: kernel, CPU, memory, IOMMU.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::bench {

/// {release, version, cmdline}
nlohmann::ordered_json kernel_json(const vfio::SystemPaths& paths = {});

/// {model, count, governor}; governor is null without cpufreq.
nlohmann::ordered_json cpu_json(const vfio::SystemPaths& paths = {});

/// Lines of /proc/buddyinfo.
nlohmann::ordered_json buddyinfo_json(const vfio::SystemPaths& paths = {});

/// The fields of /proc/meminfo that tell free, huge and reclaimable memory, in KiB.
nlohmann::ordered_json meminfo_json(const vfio::SystemPaths& paths = {});

/// One field of /proc/meminfo in bytes; 0 when it is not there.
std::uint64_t meminfo_bytes(const std::string& field, const vfio::SystemPaths& paths = {});

/// Name of the machine: DMI product, device-tree model, or "unknown".
std::string machine_name(const vfio::SystemPaths& paths = {});

/// "strict", "lazy", "identity", "none", or the type as sysfs names it.
std::string domain_mode(const vfio::pci::DeviceInfo& device);

/// The type by which sysfs names the mode "strict", "lazy" or "identity".
std::string domain_type(const std::string& mode);

/// Name of a driver in results: "virtio-iommu" for sysfs' virtio_iommu.
std::string iommu_driver(const vfio::pci::DeviceInfo& device);

/// "2026-01-31T12:00:00Z"
std::string utc_now();

/// Kernel release as (major, minor): {6, 12} for "6.12.95+deb12-arm64".
struct KernelVersion {
  unsigned major = 0;
  unsigned minor = 0;
  friend auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
KernelVersion parse_kernel_version(const std::string& release);
std::string kernel_release();

}  // namespace pagemix::bench
