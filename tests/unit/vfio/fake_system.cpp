// SPDX-License-Identifier: Apache-2.0
#include "fake_system.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace pagemix::vfio::test {

FakeSystem::FakeSystem() {
  std::string pattern = (fs::temp_directory_path() / "pagemix-vfio-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  root_ = fs::canonical(pattern);
  for (const char* folder :
       {"sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/class/block", "sys/class/net",
        "sys/class/nvme-subsystem", "sys/kernel/iommu_groups", "proc/self", "proc/net", "dev"})
    fs::create_directories(root_ / folder);
  put("proc/self/mountinfo", "21 1 0:19 / /proc rw - proc proc rw\n");
  put("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
  put("proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n");
  put("proc/net/ipv6_route", "");
}

FakeSystem::~FakeSystem() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

pci::BindOptions FakeSystem::options() {
  pci::BindOptions options;
  options.paths = paths();
  options.state_folder = state_folder();
  options.write = [this](const fs::path& path, const std::string& text) {
    return write(path, text);
  };
  options.probe = [](const fs::path&, const std::string&) { return false; };
  return options;
}

void FakeSystem::put(const fs::path& relative, const std::string& text) const {
  fs::create_directories((root_ / relative).parent_path());
  std::ofstream out(root_ / relative, std::ios::trunc);
  out << text;
  if (!out.flush()) throw std::runtime_error("write " + (root_ / relative).string());
}

void FakeSystem::link(const fs::path& relative, const fs::path& target) const {
  const fs::path path = root_ / relative;
  fs::create_directories(path.parent_path());
  fs::remove(path);
  fs::create_symlink(fs::relative(root_ / target, path.parent_path()), path);
}

void FakeSystem::add_pci(const std::string& bdf, const std::string& id,
                         const std::string& class_code) {
  const fs::path folder = fs::path("sys/devices") / folder_of(bdf);
  put(folder / "vendor", "0x" + id.substr(0, 4) + "\n");
  put(folder / "device", "0x" + id.substr(5) + "\n");
  put(folder / "class", class_code + "\n");
  put(folder / "numa_node", "-1\n");
  put(folder / "driver_override", "(null)\n");
  link("sys/bus/pci/devices/" + bdf, folder);
}

void FakeSystem::add_driver(const std::string& name) {
  put("sys/bus/pci/drivers/" + name + "/bind", "");
  put("sys/bus/pci/drivers/" + name + "/unbind", "");
}

void FakeSystem::set_driver(const std::string& bdf, const std::string& name) {
  const fs::path path = fs::path("sys/devices") / folder_of(bdf) / "driver";
  if (name.empty())
    fs::remove(root_ / path);
  else
    link(path, "sys/bus/pci/drivers/" + name);
}

void FakeSystem::add_group(int number, const std::vector<std::string>& bdfs,
                           const std::string& type) {
  const std::string group = "sys/kernel/iommu_groups/" + std::to_string(number);
  put(group + "/type", type + "\n");
  for (const std::string& bdf : bdfs) {
    link(group + "/devices/" + bdf, "sys/devices/" + folder_of(bdf));
    link("sys/devices/" + folder_of(bdf) + "/iommu_group", group);
  }
}

void FakeSystem::add_block(const std::string& parent, const std::string& name,
                           const std::string& number) {
  const std::string folder = "sys/devices/" + parent + "/" + name;
  put(folder + "/dev", number + "\n");
  fs::create_directories(root_ / folder / "holders");
  link("sys/class/block/" + name, folder);
  put("dev/" + name, "");
}

void FakeSystem::add_holder(const std::string& lower, const std::string& upper) {
  const fs::path upper_folder = fs::canonical(root_ / "sys/class/block" / upper);
  const fs::path holders = fs::canonical(root_ / "sys/class/block" / lower) / "holders";
  fs::create_symlink(fs::relative(upper_folder, holders), holders / upper);
}

void FakeSystem::add_net(const std::string& parent, const std::string& name) {
  const std::string folder = "sys/devices/" + parent + "/net/" + name;
  fs::create_directories(root_ / folder);
  link("sys/class/net/" + name, folder);
}

std::string FakeSystem::driver_of(const std::string& bdf) const {
  return link_name(root_ / "sys/bus/pci/devices" / bdf / "driver").value_or("");
}

std::string FakeSystem::override_of(const std::string& bdf) const {
  return read_line(root_ / "sys/bus/pci/devices" / bdf / "driver_override").value_or("");
}

// iommu_group_store_type() of drivers/iommu/iommu.c.
int FakeSystem::set_type(const fs::path& path, const std::string& text) {
  log.push_back("domain " + text);
  const fs::path group = fs::canonical(path).parent_path();
  const auto refused = type_failures.find(text);
  if (refused != type_failures.end() && refused->second != 0) return refused->second;
  if (!(text == "DMA-FQ" && read_line(path) == "DMA"))
    for (const auto& device : fs::directory_iterator(group / "devices"))
      if (!driver_of(device.path().filename().string()).empty()) return EPERM;
  if (refused == type_failures.end()) put(group.lexically_relative(root_) / "type", text + "\n");
  return 0;
}

int FakeSystem::write(const fs::path& path, const std::string& text) {
  ++writes_;
  if (before_write)
    if (const int errnum = before_write(writes_); errnum != 0) return errnum;
  const std::string name = path.filename().string();
  if (name == "driver_override") {
    const std::string value = text.substr(0, text.find('\n'));
    log.push_back("override " + value);
    put(path.lexically_relative(root_), value.empty() ? "(null)\n" : value + "\n");
    return 0;
  }
  if (name == "type") return set_type(path, text);
  const std::string driver = path.parent_path().filename().string();
  const std::string current = driver_of(text);
  log.push_back(name + " " + driver);
  if (!fs::exists(path)) return ENOENT;
  if (name == "unbind") {
    if (current != driver) return ENODEV;
    set_driver(text, "");
    return 0;
  }
  if (name != "bind") return EACCES;
  const std::string wanted = override_of(text);
  if (!current.empty()) return EBUSY;
  if (wanted != "(null)" && wanted != driver) return ENODEV;
  for (const auto& [failing, errnum] : probe_failures)
    if (failing == driver) return errnum;
  set_driver(text, driver);
  return 0;
}

}  // namespace pagemix::vfio::test
