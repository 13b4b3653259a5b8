// SPDX-License-Identifier: Apache-2.0
// User-space drivers on VFIO: everything public. README.md has a whole program.
#pragma once

#include "pagemix/vfio/dma_engine.hpp"
#include "pagemix/vfio/edu/edu.hpp"
#include "pagemix/vfio/error.hpp"  // Error, DeviceInUse, GroupNotViable
#include "pagemix/vfio/files.hpp"  // SystemPaths, UniqueFd
#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "pagemix/vfio/iommu/fault_log.hpp"
#include "pagemix/vfio/iommu/iommufd.hpp"
#include "pagemix/vfio/iommu/iova.hpp"
#include "pagemix/vfio/iommu/mapping.hpp"
#include "pagemix/vfio/iommu/type1.hpp"
#include "pagemix/vfio/memory.hpp"  // MappedMemory, DMA barriers
#include "pagemix/vfio/nvme/controller.hpp"
#include "pagemix/vfio/nvme/engine.hpp"
#include "pagemix/vfio/pci/bdf.hpp"
#include "pagemix/vfio/pci/binding.hpp"
#include "pagemix/vfio/pci/device.hpp"
#include "pagemix/vfio/pci/discovery.hpp"
#include "pagemix/vfio/pci/in_use.hpp"
