// SPDX-License-Identifier: Apache-2.0
#include "machine/environment.hpp"

#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <sstream>
#include <thread>

#include "base/text.hpp"

namespace pagemix::bench {
namespace {

using nlohmann::ordered_json;

// "key<blanks>: value" lines of /proc/cpuinfo and /proc/meminfo; first wins.
std::map<std::string, std::string> fields(const std::string& text) {
  std::map<std::string, std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t colon = line.find(':'); colon != std::string::npos)
      found.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  return found;
}

// arm64 names no model in cpuinfo, only MIDR fields; a few common cores.
std::string arm_model(const std::map<std::string, std::string>& cpu) {
  const auto field = [&](const char* name) {
    const auto found = cpu.find(name);
    return found == cpu.end() ? std::string("?") : found->second;
  };
  static const std::map<std::string, std::string> kParts = {
      {"0x41/0xd03", "Cortex-A53"},  {"0x41/0xd05", "Cortex-A55"},  {"0x41/0xd07", "Cortex-A57"},
      {"0x41/0xd08", "Cortex-A72"},  {"0x41/0xd0b", "Cortex-A76"},  {"0x41/0xd0c", "Neoverse-N1"},
      {"0x41/0xd40", "Neoverse-V1"}, {"0x41/0xd49", "Neoverse-N2"}, {"0x41/0xd4f", "Neoverse-V2"},
      {"0x00/0x051", "QEMU max"},
  };
  const std::string id = field("CPU implementer") + "/" + field("CPU part");
  const auto known = kParts.find(id);
  return known == kParts.end() ? "arm64 " + id : known->second;
}

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(trim(line));
  return lines;
}

}  // namespace

ordered_json kernel_json(const vfio::SystemPaths& paths) {
  utsname name{};
  uname(&name);
  return {{"release", name.release},
          {"version", name.version},
          {"cmdline", vfio::read_line(paths.proc / "cmdline").value_or("")}};
}

ordered_json cpu_json(const vfio::SystemPaths& paths) {
  const auto cpu = fields(vfio::read_text(paths.proc / "cpuinfo").value_or(""));
  const auto model = cpu.find("model name");
  ordered_json json;
  json["model"] = model != cpu.end() ? model->second : arm_model(cpu);
  json["count"] = std::thread::hardware_concurrency();
  const auto governor =
      vfio::read_line(paths.sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor");
  json["governor"] = governor ? ordered_json(*governor) : ordered_json(nullptr);
  return json;
}

ordered_json buddyinfo_json(const vfio::SystemPaths& paths) {
  return text_lines(vfio::read_text(paths.proc / "buddyinfo").value_or(""));
}

ordered_json meminfo_json(const vfio::SystemPaths& paths) {
  static const std::array kKept = {"MemTotal",      "MemFree", "MemAvailable", "Buffers",
                                   "Cached",        "Slab",    "SReclaimable", "PageTables",
                                   "AnonHugePages", "Mlocked", "Unevictable",  "CmaTotal",
                                   "CmaFree"};
  const auto memory = fields(vfio::read_text(paths.proc / "meminfo").value_or(""));
  ordered_json json = ordered_json::object();
  for (const char* name : kKept)
    if (const auto field = memory.find(name); field != memory.end())
      if (const auto kib = parse_number(split_words(field->second).at(0))) json[name] = *kib;
  return json;
}

std::uint64_t meminfo_bytes(const std::string& field, const vfio::SystemPaths& paths) {
  const auto memory = fields(vfio::read_text(paths.proc / "meminfo").value_or(""));
  const auto found = memory.find(field);
  if (found == memory.end()) return 0;
  const std::vector<std::string> words = split_words(found->second);
  return words.empty() ? 0 : parse_number(words.front()).value_or(0) * 1024;
}

std::string machine_name(const vfio::SystemPaths& paths) {
  if (const auto name = vfio::read_line(paths.sys / "class/dmi/id/product_name")) return *name;
  if (const auto model = vfio::read_text(paths.sys / "firmware/devicetree/base/model"))
    return model->substr(0, model->find('\0'));
  return "unknown";
}

std::string domain_mode(const vfio::pci::DeviceInfo& device) {
  if (!device.iommu_group || device.no_iommu) return "none";
  if (device.iommu_group_type == "DMA") return "strict";
  if (device.iommu_group_type == "DMA-FQ") return "lazy";
  return device.iommu_group_type.empty() ? "unknown" : device.iommu_group_type;
}

std::string domain_type(const std::string& mode) {
  if (mode == "strict") return "DMA";
  return mode == "lazy" ? "DMA-FQ" : mode;
}

std::string iommu_driver(const vfio::pci::DeviceInfo& device) {
  if (device.iommu_driver == "virtio_iommu") return "virtio-iommu";
  return device.iommu_driver.empty() ? "none" : device.iommu_driver;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

KernelVersion parse_kernel_version(const std::string& release) {
  KernelVersion version;
  if (std::sscanf(release.c_str(), "%u.%u", &version.major, &version.minor) != 2) return {};
  return version;
}

std::string kernel_release() {
  utsname name{};
  uname(&name);
  return name.release;
}

}  // namespace pagemix::bench
