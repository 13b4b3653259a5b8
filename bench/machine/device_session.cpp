// SPDX-License-Identifier: Apache-2.0
#include "machine/device_session.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/environment.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/nvme/controller.hpp"

namespace pagemix::bench {

namespace pci = vfio::pci;

DeviceSession::DeviceSession(const pci::Bdf& bdf, std::uint32_t ring_capacity)
    : device_(pci::read_device(bdf)), ring_capacity_(ring_capacity) {}

void DeviceSession::bind(const std::string& driver) {
  if (binding_ && binding_->driver() == driver) return;
  release();
  binding_.emplace(device_.bdf, driver);
  device_ = pci::read_device(device_.bdf);
}

void DeviceSession::use_domain() {
  if (!own_domain_) own_domain_ = device_.iommu_group_type;
  const std::string type = wanted_domain_.empty() ? *own_domain_ : domain_type(wanted_domain_);
  if (type == device_.iommu_group_type) return;
  target_.reset();  // the device leaves its driver meanwhile
  try {
    binding_->set_domain(type);
  } catch (const vfio::Error&) {
    device_ = pci::read_device(device_.bdf);
    throw;
  }
  device_ = pci::read_device(device_.bdf);
}

TargetClient& DeviceSession::module() {
  bind("pagemix");
  use_domain();
  if (!target_) target_ = std::make_unique<TargetClient>(name(), ring_capacity_);
  return *target_;
}

vfio::iommu::AddressSpace& DeviceSession::vfio(const std::string& backend) {
  const std::string wanted = backend.empty() ? vfio::iommu::default_backend() : backend;
  bind("vfio-pci");
  if (backend_ != wanted) space_.reset();
  backend_ = wanted;
  if (!space_) space_ = vfio::iommu::make_address_space(wanted, device_);
  return *space_;
}

void DeviceSession::release() {
  target_.reset();
  space_.reset();
  if (binding_) binding_->restore();
  binding_.reset();
}

bool may_have_iommu(const pci::DeviceInfo& device) {
  return device.iommu_group ? !device.no_iommu : device.iommu_group_pending;
}

pci::DeviceInfo choose_device(const std::optional<std::string>& wanted,
                              const vfio::SystemPaths& paths) {
  if (wanted) {
    const auto bdf = pci::Bdf::try_parse(*wanted);
    if (!bdf)
      throw UsageError("--device: unreadable address \"" + *wanted +
                       "\"; allowed: domain:bus:device.function, as in 0000:00:02.0");
    return pci::read_device(*bdf, paths);
  }
  std::vector<pci::DeviceInfo> bound;
  std::vector<pci::DeviceInfo> free;
  for (const pci::DeviceInfo& device : pci::list_devices(paths)) {
    if (device.is_bridge() || !may_have_iommu(device)) continue;
    if (device.driver == "pagemix" || device.driver == "vfio-pci")
      bound.push_back(device);
    else if (!device.driver)
      free.push_back(device);
  }
  std::vector<pci::DeviceInfo> candidates = bound.empty() ? free : bound;
  // Where there is a choice, the drive is left to the families that use one.
  if (candidates.size() > 1) std::erase_if(candidates, vfio::nvme::is_nvme);
  if (candidates.size() == 1) return candidates.front();
  std::vector<std::string> names;
  for (const pci::DeviceInfo& device : candidates)
    names.push_back(device.bdf.text() + " [" + device.id() + "]");
  if (names.empty())
    throw UsageError(
        "no device behind an IOMMU is free of a driver; see pagemix doctor and pass "
        "--device BDF");
  throw UsageError("more than one device could be used; pass --device with one of " + join(names));
}

}  // namespace pagemix::bench
