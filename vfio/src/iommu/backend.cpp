// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/backend.hpp"

#include <array>
#include <cerrno>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/iommufd.hpp"
#include "pagemix/vfio/iommu/type1.hpp"

namespace pagemix::vfio::iommu {
namespace {

constexpr std::array<const char*, 3> names = {"type1", "iommufd", "iommufd-4k"};

}  // namespace

std::span<const char* const> backend_names() { return names; }

std::unique_ptr<AddressSpace> make_address_space(const std::string& backend,
                                                 const pci::DeviceInfo& device,
                                                 const SystemPaths& paths) {
  if (backend == "type1") return std::make_unique<Type1Container>(device, paths);
  if (backend == "iommufd") return std::make_unique<Iommufd>(device, HugePages::on, paths);
  if (backend == "iommufd-4k") return std::make_unique<Iommufd>(device, HugePages::off, paths);
  throw Error(EINVAL, "make an address space of backend '" + backend + "'",
              "allowed: type1, iommufd, iommufd-4k");
}

std::string backend_missing(const std::string& backend, const SystemPaths& paths) {
  std::error_code error;
  if (backend == "type1")
    return std::filesystem::exists(paths.dev / "vfio/vfio", error)
               ? ""
               : "there is no " + (paths.dev / "vfio/vfio").string() +
                     ": needs CONFIG_VFIO_CONTAINER; modprobe vfio-pci";
  if (!std::filesystem::exists(paths.dev / "iommu", error))
    return "there is no " + (paths.dev / "iommu").string() +
           ": needs CONFIG_IOMMUFD; modprobe iommufd";
  return "";
}

std::string default_backend(const SystemPaths& paths) {
  for (const char* name : names)
    if (backend_missing(name, paths).empty()) return name;
  return names.front();
}

bool type1_huge_pages_disabled(const SystemPaths& paths) {
  return read_line(paths.sys / "module/vfio_iommu_type1/parameters/disable_hugepages") == "Y";
}

}  // namespace pagemix::vfio::iommu
