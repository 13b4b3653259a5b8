// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/pci/in_use.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <sstream>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace fs = std::filesystem;

namespace pagemix::vfio::pci {
namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const std::string real = fs::canonical(path, error).string();
  return !error && real.starts_with(folder.string() + "/");
}

/// Undoes the octal escapes (\040 is a blank) of mountinfo and swaps.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
    if (octal) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// Kernel name of the block device behind a path such as /dev/mapper/home.
std::string block_name(const std::string& path, const SystemPaths& paths) {
  if (!path.starts_with("/dev/")) return {};
  std::error_code error;
  const fs::path node = paths.dev / path.substr(5);
  const fs::path real = fs::canonical(node, error);
  std::string name = (error ? node : real).lexically_relative(paths.dev).string();
  std::replace(name.begin(), name.end(), '/', '!');
  return name;
}

/// Node of a kernel name, in which '!' stands for '/' (cciss!c0d0).
fs::path block_node(std::string name, const SystemPaths& paths) {
  std::replace(name.begin(), name.end(), '!', '/');
  return paths.dev / name;
}

/// A block device that the PCI device serves.
struct Block {
  std::string number;   // "major:minor"
  std::string through;  // the device below it in the stack; empty at the bottom
};
using Blocks = std::map<std::string, Block>;  // by kernel name

/// Multipath heads are virtual devices: they hang below an NVMe subsystem
/// that links the controllers, not below the controllers.
std::vector<fs::path> nvme_subsystems(const fs::path& device, const SystemPaths& paths) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const std::string& name : names_in(paths.sys / "class/nvme-subsystem")) {
    const fs::path folder = fs::canonical(paths.sys / "class/nvme-subsystem" / name, error);
    if (error) continue;
    const std::vector<std::string> entries = names_in(folder);
    if (std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
          return fs::is_symlink(folder / entry) && entry.starts_with("nvme") &&
                 is_below(folder / entry, device);
        }))
      found.push_back(folder);
  }
  return found;
}

/// Block devices of the PCI device and everything stacked on them.
Blocks served_blocks(const fs::path& device, const SystemPaths& paths) {
  const fs::path class_block = paths.sys / "class/block";
  std::vector<fs::path> roots = nvme_subsystems(device, paths);
  roots.push_back(device);

  Blocks blocks;
  std::vector<std::string> todo;
  const auto add = [&](const std::string& name, const std::string& through) {
    const std::string number = read_line(class_block / name / "dev").value_or("");
    if (blocks.emplace(name, Block{number, through}).second) todo.push_back(name);
  };
  for (const std::string& name : names_in(class_block))
    for (const fs::path& root : roots)
      if (is_below(class_block / name, root)) add(name, "");
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    for (const std::string& holder : names_in(class_block / name / "holders")) add(holder, name);
  }
  return blocks;
}

/// "dm-0 (on nvme0n1p2)"
std::string stack_text(const std::string& name, const Blocks& blocks) {
  std::string text = name;
  std::string below = blocks.at(name).through;
  if (below.empty()) return text;
  text += " (on " + below;
  while (!(below = blocks.at(below).through).empty()) text += " on " + below;
  return text + ")";
}

void find_mounts(const Blocks& blocks, const SystemPaths& paths, std::vector<std::string>& users) {
  std::map<std::string, std::string> by_number;
  for (const auto& [name, block] : blocks)
    if (!block.number.empty()) by_number[block.number] = name;

  const auto mounts = read_text(paths.proc / "self/mountinfo");
  if (!mounts)
    throw Error(ENOENT, "read " + (paths.proc / "self/mountinfo").string(),
                "without it nobody knows what is mounted; is /proc mounted?");
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, parent, number, root, point, field, type, source;
    fields >> id >> parent >> number >> root >> point;
    while (fields >> field && field != "-") {
    }
    fields >> type >> source;
    std::string name;
    if (const auto found = by_number.find(number); found != by_number.end())
      name = found->second;
    else if (const std::string from = block_name(unescape(source), paths); blocks.contains(from))
      name = from;  // btrfs shows an anonymous number
    if (!name.empty())
      users.push_back(stack_text(name, blocks) + " is mounted at " + unescape(point));
  }
  // Of a btrfs on several devices mountinfo names one.
  for (const std::string& uuid : names_in(paths.sys / "fs/btrfs"))
    for (const std::string& name : names_in(paths.sys / "fs/btrfs" / uuid / "devices"))
      if (blocks.contains(name))
        users.push_back(stack_text(name, blocks) + " is part of the mounted btrfs " + uuid);
}

void find_swaps(const Blocks& blocks, const SystemPaths& paths, std::vector<std::string>& users) {
  std::istringstream lines(read_text(paths.proc / "swaps").value_or(""));
  std::string line;
  std::getline(lines, line);  // titles
  while (std::getline(lines, line)) {
    const std::string name = block_name(unescape(line.substr(0, line.find_first_of(" \t"))), paths);
    if (blocks.contains(name)) users.push_back(stack_text(name, blocks) + " is swap space");
  }
}

void find_holders(const Blocks& blocks, const SystemPaths& paths, std::vector<std::string>& users) {
  for (const auto& [name, block] : blocks) {
    if (block.through.empty()) continue;
    const fs::path folder = paths.sys / "class/block" / name;
    std::string kind = "block device " + name;
    if (const auto mapper = read_line(folder / "dm/name"))
      kind = "device-mapper " + name + " (" + *mapper + ")";
    else if (const auto level = read_line(folder / "md/level"))
      kind = "md array " + name + " (" + *level + ")";
    users.push_back(stack_text(block.through, blocks) + " is held by " + kind);
  }
}

void find_exclusive_users(const Blocks& blocks, const SystemPaths& paths,
                          const ExclusiveProbe& probe, std::vector<std::string>& users) {
  for (const auto& [name, block] : blocks)
    if (block.through.empty() && probe(block_node(name, paths), block.number))
      users.push_back(name + " is opened exclusively (a mount in another namespace, or ZFS)");
}

/// Interfaces of the device and those stacked on them (upper_<name> links).
std::set<std::string> served_interfaces(const fs::path& device, const SystemPaths& paths) {
  const fs::path class_net = paths.sys / "class/net";
  std::set<std::string> found;
  std::vector<std::string> todo;
  for (const std::string& name : names_in(class_net))
    if (is_below(class_net / name, device)) todo.push_back(name);
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    if (!found.insert(name).second) continue;
    for (const std::string& entry : names_in(class_net / name))
      if (entry.starts_with("upper_")) todo.push_back(entry.substr(6));
  }
  return found;
}

constexpr unsigned long route_up = 0x1;        // RTF_UP
constexpr unsigned long route_reject = 0x200;  // RTF_REJECT: the kernel's "no route" entries

bool is_active_route(const std::string& flags) {
  const unsigned long value = std::strtoul(flags.c_str(), nullptr, 16);
  return (value & route_up) != 0 && (value & route_reject) == 0;
}

void find_default_routes(const std::set<std::string>& interfaces, const SystemPaths& paths,
                         std::vector<std::string>& users) {
  std::set<std::string> carriers;
  std::istringstream v4(read_text(paths.proc / "net/route").value_or(""));
  std::string line;
  std::getline(v4, line);  // titles
  while (std::getline(v4, line)) {
    std::istringstream fields(line);
    std::string name, destination, gateway, flags, references, use, metric, mask;
    fields >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    if (destination == "00000000" && mask == "00000000" && is_active_route(flags) &&
        interfaces.contains(name))
      carriers.insert(name + " carries the default route (IPv4)");
  }
  std::istringstream v6(read_text(paths.proc / "net/ipv6_route").value_or(""));
  while (std::getline(v6, line)) {
    std::istringstream fields(line);
    std::string destination, length, source, source_length, next_hop, metric, references, use,
        flags, name;
    fields >> destination >> length >> source >> source_length >> next_hop >> metric >>
        references >> use >> flags >> name;
    if (length == "00" && destination.find_first_not_of('0') == std::string::npos &&
        is_active_route(flags) && interfaces.contains(name))
      carriers.insert(name + " carries the default route (IPv6)");
  }
  users.insert(users.end(), carriers.begin(), carriers.end());
}

}  // namespace

bool has_exclusive_user(const fs::path& node, const std::string& number) {
  struct stat status {};
  if (::stat(node.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) return false;
  const std::string found =
      std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
  if (found != number) return false;
  const UniqueFd fd(::open(node.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK));
  return !fd && errno == EBUSY;
}

std::vector<std::string> device_users(const Bdf& bdf, const SystemPaths& paths,
                                      const ExclusiveProbe& probe) {
  std::error_code error;
  const fs::path device = fs::canonical(device_folder(bdf, paths), error);
  if (error) throw Error(ENODEV, "find PCI device " + bdf.text(), "no such device in sysfs");

  std::vector<std::string> users;
  const Blocks blocks = served_blocks(device, paths);
  find_mounts(blocks, paths, users);
  find_swaps(blocks, paths, users);
  find_holders(blocks, paths, users);
  if (users.empty()) find_exclusive_users(blocks, paths, probe, users);
  find_default_routes(served_interfaces(device, paths), paths, users);
  return users;
}

void check_not_in_use(const Bdf& bdf, const SystemPaths& paths, const ExclusiveProbe& probe) {
  std::vector<std::string> users = device_users(bdf, paths, probe);
  if (!users.empty()) throw DeviceInUse(bdf.text(), std::move(users));
}

}  // namespace pagemix::vfio::pci
