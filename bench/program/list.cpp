// SPDX-License-Identifier: Apache-2.0
// pagemix list
#include <iostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/device_session.hpp"
#include "pagemix/vfio/error.hpp"
#include "plan/config_files.hpp"
#include "plan/family_table.hpp"
#include "plan/mixes.hpp"
#include "program/doctor.hpp"

namespace pagemix::bench {
namespace {

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
  std::cout << "\nprofiles (--config NAME)\n";
  for (const std::filesystem::path& profile : named_profiles())
    std::cout << "  " << padded(profile.stem().string(), 14) << profile.string() << '\n';
  std::cout << "\nbenchmark families\n";
  for (const FamilyDescriptor* family : families())
    std::cout << "  " << padded(family->name, 14) << family->help << '\n';
  list_operations();
  return kExitOk;
}

}  // namespace pagemix::bench
