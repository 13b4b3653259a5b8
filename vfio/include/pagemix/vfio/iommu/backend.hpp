// SPDX-License-Identifier: Apache-2.0
// Address spaces by the name of the kernel interface that makes them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::vfio::iommu {

/// "type1", "iommufd", and "iommufd-4k": iommufd without huge pages, every leaf
/// a page of the kernel.
std::span<const char* const> backend_names();

/// A Type1Container or Iommufd with `device`; errors are theirs. Error (EINVAL)
/// for a name that backend_names() lacks.
std::unique_ptr<AddressSpace> make_address_space(const std::string& backend,
                                                 const pci::DeviceInfo& device,
                                                 const SystemPaths& paths = {});

/// Why the kernel cannot make an address space of this backend; "" when its
/// nodes are there.
std::string backend_missing(const std::string& backend, const SystemPaths& paths = {});

/// The first of backend_names() that backend_missing() has nothing against; type1 without any.
std::string default_backend(const SystemPaths& paths = {});

/// Whether type1 maps page by page: its module's parameter disable_hugepages.
bool type1_huge_pages_disabled(const SystemPaths& paths = {});

}  // namespace pagemix::vfio::iommu
