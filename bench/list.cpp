// SPDX-License-Identifier: Apache-2.0
// pagemix list
#include <iostream>

#include "device_session.hpp"
#include "doctor.hpp"
#include "error.hpp"
#include "mixes.hpp"
#include "pagemix/vfio/error.hpp"
#include "text.hpp"

namespace pagemix::bench {
namespace {

struct FamilyHelp {
  const char* name;
  const char* help;
};

constexpr FamilyHelp kFamilies[] = {
    {"alloc", "allocate and zero a buffer (user-space clock)"},
    {"map_sgtable", "dma_map_sgtable() of one attachment (in the module)"},
    {"unmap_sgtable", "dma_unmap_sgtable() of it (in the module)"},
    {"vfio_map", "VFIO_IOMMU_MAP_DMA of the mmapped buffer (user-space clock)"},
    {"vfio_unmap", "VFIO_IOMMU_UNMAP_DMA of it (user-space clock)"},
    {"sync", "begin and end of CPU access to a mapped buffer (in the module)"},
    {"import", "PRIME import and release by a DRM driver (user-space clock)"},
    {"use_stream", "an NVMe drive fills the buffer by large transfers"},
    {"use_random", "it writes a block into random pages of a working set: IOTLB reach"},
    {"use_column", "it reads a frame down columns of tiles, as a rotation does"},
    {"use_pipeline", "it writes and reads frames of a queue, mapped once or each"},
    {"sample_cost", "what a sample contains besides the operation"},
};

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

void list_operations() {
  std::cout << "\noperations of the module\n";
  unsigned bound = 0;
  for (const vfio::pci::DeviceInfo& device : vfio::pci::list_devices()) {
    if (device.driver != "pagemix") continue;
    ++bound;
    try {
      const TargetClient target(device.bdf.text(), 1);
      std::cout << "  " << device.bdf.text() << "  " << join(target.operations(), " ") << '\n';
    } catch (const RunError& error) {
      std::cout << "  " << device.bdf.text() << "  " << error.what() << '\n';
    }
  }
  if (bound == 0) std::cout << "  (no device is bound to pagemix; a run binds one by itself)\n";
}

}  // namespace

int list_command(const ListOptions& options) {
  const std::filesystem::path file =
      options.mixes_file ? std::filesystem::path(*options.mixes_file) : find_mixes_file({});
  std::cout << "mixes (" << file.string() << ")\n";
  for (const Mix& mix : load_mixes(file, PAGEMIX_ORDERS - 1))
    std::cout << "  " << padded(mix.name, 14) << format_steps(mix) << '\n';
  std::cout << "\nbenchmark families\n";
  for (const FamilyHelp& family : kFamilies)
    std::cout << "  " << padded(family.name, 14) << family.help << '\n';
  list_operations();
  return kExitOk;
}

}  // namespace pagemix::bench
