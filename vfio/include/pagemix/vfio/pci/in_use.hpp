// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/pci/bdf.hpp"

namespace pagemix::vfio::pci {

/// Tells whether a block device node has an exclusive user: true after EBUSY
/// of open(O_EXCL). `number` is its "major:minor".
using ExclusiveProbe =
    std::function<bool(const std::filesystem::path& node, const std::string& number)>;

/// The probe for a running system. A node that is missing or has another
/// number is not opened.
bool has_exclusive_user(const std::filesystem::path& node, const std::string& number);

/// What the running system uses the device for, one text each: "nvme0n1p2 is
/// mounted at /". Looks at every block device below the PCI device (partitions
/// and NVMe multipath heads too) and through everything stacked on it, and at
/// its network interfaces with the bridges, bonds and VLANs above them:
///   mounts    /proc/self/mountinfo, and the member list of mounted btrfs
///   swap      /proc/swaps
///   holders   device-mapper, md, bcache: holders/ in sysfs
///   others    exclusive opens, e.g. mounts of another mount namespace, ZFS
///   network   default routes of /proc/net/route and /proc/net/ipv6_route
/// Empty: not in use.
std::vector<std::string> device_users(const Bdf& bdf, const SystemPaths& paths = {},
                                      const ExclusiveProbe& probe = has_exclusive_user);

/// Throws DeviceInUse if device_users() finds any.
void check_not_in_use(const Bdf& bdf, const SystemPaths& paths = {},
                      const ExclusiveProbe& probe = has_exclusive_user);

}  // namespace pagemix::vfio::pci
