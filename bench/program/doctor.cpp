// SPDX-License-Identifier: Apache-2.0
#include "program/doctor.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "iommu/iommu_counters.hpp"
#include "machine/device_session.hpp"
#include "machine/environment.hpp"
#include "machine/heap_client.hpp"
#include "machine/module_missing.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "pagemix/vfio/nvme/controller.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;
namespace pci = vfio::pci;
using Findings = std::vector<Finding>;
using Kind = Finding::Kind;

void examine_user(Findings& findings) {
  if (geteuid() != 0)
    findings.push_back({Kind::kProblem, "not root: the nodes of heap and device are root's only",
                        "sudo pagemix doctor"});
}

void examine_clock(Findings& findings, const vfio::SystemPaths& paths) {
  if (const auto reason = looks_emulated(paths))
    findings.push_back({Kind::kNote, "the machine looks emulated: " + *reason,
                        "pagemix run --clock instructions (under -icount) or --clock emulated-ns"});
}

void examine_iommu(Findings& findings, const std::vector<pci::DeviceInfo>& devices,
                   const vfio::SystemPaths& paths) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(paths.sys / "class/iommu", error))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  const auto behind = std::ranges::find_if(devices, [](const pci::DeviceInfo& device) {
    return device.iommu_group && !device.no_iommu;
  });
  if (names.empty() || std::ranges::none_of(devices, may_have_iommu)) {
    findings.push_back(
        {Kind::kProblem,
         names.empty() ? "no IOMMU" : "IOMMU " + join(names) + " translates for no PCI device",
         "enable it in the firmware; on Intel boot with intel_iommu=on; in QEMU start with "
         "-machine virt,iommu=smmuv3 (arm64) or -device intel-iommu (x86); virtio-iommu needs "
         "modprobe virtio_iommu before the device is probed"});
    return;
  }
  findings.push_back({Kind::kGood,
                      "IOMMU " + join(names) +
                          (behind == devices.end() ? "" : ", driver " + iommu_driver(*behind)),
                      ""});
}

void examine_module(Findings& findings, const vfio::SystemPaths& paths) {
  if (!fs::exists(paths.sys / "module/pagemix")) {
    const ModuleMissing missing = module_missing(kernel_release());
    findings.push_back({Kind::kProblem, missing.why, missing.remedy});
    return;
  }
  const auto version = vfio::read_line(paths.sys / "module/pagemix/version");
  findings.push_back({Kind::kGood, "module pagemix " + version.value_or("(no version)"), ""});
  try {
    const HeapClient heap;
    findings.push_back({Kind::kGood,
                        std::string("heap ") + kHeapNode + ", orders 0.." +
                            std::to_string(heap.info().max_order) + " of " +
                            format_size(heap.info().page_size) + " pages",
                        ""});
  } catch (const RunError& error) {
    findings.push_back({Kind::kProblem, error.what(), "run as root; see dmesg for pagemix"});
  }
}

std::string offered_backends(const vfio::SystemPaths& paths) {
  std::vector<std::string> offered;
  for (const char* name : vfio::iommu::backend_names())
    if (vfio::iommu::backend_missing(name, paths).empty()) offered.emplace_back(name);
  return join(offered);
}

void examine_vfio(Findings& findings, const vfio::SystemPaths& paths) {
  if (fs::exists(paths.sys / "bus/pci/drivers/vfio-pci") && !offered_backends(paths).empty())
    findings.push_back(
        {Kind::kGood, "VFIO, driver vfio-pci, backends " + offered_backends(paths), ""});
  else
    findings.push_back(
        {Kind::kNote, "no vfio-pci: vfio_map and vfio_unmap will be skipped", "modprobe vfio-pci"});
  if (vfio::iommu::type1_huge_pages_disabled(paths))
    findings.push_back({Kind::kNote,
                        "type1 maps page by page: vfio_iommu_type1 has disable_hugepages",
                        "echo N > /sys/module/vfio_iommu_type1/parameters/disable_hugepages"});
}

// What a bound device says about its domain.
std::string domain_facts(const pci::DeviceInfo& device) {
  if (!device.iommu_group) return "IOMMU known once bound";
  std::string text = iommu_driver(device) + ", domain " + domain_mode(device);
  if (device.driver != "pagemix") return text + ", page sizes known once bound";
  try {
    const TargetClient target(device.bdf.text(), 1);
    text += ", page sizes " + format_hex(target.info().pgsize_bitmap);
    text += ", granule " + format_size(target.info().granule);
    text += target.info().coherent != 0 ? ", coherent" : ", not coherent";
  } catch (const RunError& error) {
    text += std::string(", ") + error.what();
  }
  return text;
}

// Returns whether the device could be used.
bool examine_device(Findings& findings, const pci::DeviceInfo& device, Kind unusable,
                    const vfio::SystemPaths& paths) {
  const std::string name = "device " + device.bdf.text() + " [" + device.id() + "]";
  std::vector<pci::Blocker> blockers;
  if (device.driver != "pagemix") blockers = pci::blockers(device, "pagemix", paths);
  if (blockers.empty()) {
    findings.push_back({Kind::kGood,
                        name + ": usable, " +
                            (device.driver ? "driver " + *device.driver : "no driver") + ", " +
                            domain_facts(device),
                        ""});
    return true;
  }
  for (const pci::Blocker& blocker : blockers)
    findings.push_back({unusable, name + ": not usable: " + blocker.text, blocker.remedy});
  return false;
}

void examine_devices(Findings& findings, const std::vector<pci::DeviceInfo>& devices,
                     const std::optional<std::string>& wanted, const vfio::SystemPaths& paths) {
  if (wanted) {
    examine_device(findings, choose_device(wanted, paths), Kind::kProblem, paths);
    return;
  }
  unsigned usable = 0;
  for (const pci::DeviceInfo& device : devices)
    if (!device.is_bridge() && examine_device(findings, device, Kind::kNote, paths)) ++usable;
  if (usable == 0)
    findings.push_back(
        {Kind::kProblem, "no usable device",
         "free one of the devices above as told there, or add one behind the IOMMU"});
  else if (usable > 1)
    findings.push_back({Kind::kNote,
                        std::to_string(usable) +
                            " usable devices; a run takes one "
                            "that is bound to pagemix or has no driver, if there is only one",
                        "pagemix run --device BDF"});
}

// The drives that the use_* families could take; a machine without one can
// still run the others.
void examine_drives(Findings& findings, const std::vector<pci::DeviceInfo>& devices,
                    const vfio::SystemPaths& paths) {
  unsigned usable = 0;
  for (const pci::DeviceInfo& device : devices) {
    if (!vfio::nvme::is_nvme(device)) continue;
    const std::string name = "drive " + device.bdf.text() + " [" + device.id() + "]";
    const bool bound = device.driver == "vfio-pci";
    const auto blockers =
        bound ? std::vector<pci::Blocker>{} : pci::blockers(device, "vfio-pci", paths);
    for (const pci::Blocker& blocker : blockers)
      findings.push_back({Kind::kNote, name + ": not usable by the use_* families: " + blocker.text,
                          blocker.remedy});
    if (!blockers.empty()) continue;
    ++usable;
    const bool taken = device.driver && !bound;
    findings.push_back({Kind::kGood, name + ": usable by the use_* families",
                        taken ? "pagemix run --drive " + device.bdf.text() +
                                    " (taken from driver " + *device.driver + " for the run)"
                              : ""});
  }
  if (usable == 0)
    findings.push_back(
        {Kind::kNote, "no usable NVMe drive: the use_* families will be skipped",
         "add a drive that holds nothing mounted; in a guest --target \"edu nvme\""});
}

void examine_counters(Findings& findings, const vfio::SystemPaths& paths) {
  try {
    std::vector<std::string> names;
    for (const IommuColumn& column : find_iommu_columns(paths)) names.push_back(column.name);
    if (names.empty())
      findings.push_back({Kind::kNote, "no IOMMU counters: costs are measured, misses are not",
                          "a kernel with ARM_SMMU_V3_PMU or INTEL_IOMMU_PERF_EVENTS; "
                          "docs/hardware.md"});
    else
      findings.push_back({Kind::kGood, "IOMMU counters " + join(names), ""});
  } catch (const RunError& error) {
    findings.push_back({Kind::kNote, std::string("IOMMU counters: ") + error.what(), ""});
  }
}

}  // namespace

Findings examine(const std::optional<std::string>& device, const vfio::SystemPaths& paths) {
  Findings findings;
  const std::vector<pci::DeviceInfo> devices = pci::list_devices(paths);
  examine_user(findings);
  examine_clock(findings, paths);
  examine_iommu(findings, devices, paths);
  examine_module(findings, paths);
  examine_vfio(findings, paths);
  examine_devices(findings, devices, device, paths);
  examine_drives(findings, devices, paths);
  examine_counters(findings, paths);
  return findings;
}

int report(const Findings& findings, std::ostream& out) {
  std::size_t problems = 0;
  for (const Finding& finding : findings) {
    const char* tag = "ok      ";
    if (finding.kind == Kind::kNote) tag = "note    ";
    if (finding.kind == Kind::kProblem) tag = "PROBLEM ";
    problems += finding.kind == Kind::kProblem ? 1 : 0;
    out << tag << finding.text << '\n';
    if (!finding.remedy.empty()) out << "          -> " << finding.remedy << '\n';
  }
  if (problems == 0)
    out << "a run can start\n";
  else
    out << "a run cannot start: " << problems << (problems == 1 ? " problem\n" : " problems\n");
  return problems == 0 ? kExitOk : kExitRun;
}

int doctor_command(const DoctorOptions& options) {
  return report(examine(options.device), std::cout);
}

}  // namespace pagemix::bench
