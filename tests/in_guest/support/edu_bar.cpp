// SPDX-License-Identifier: Apache-2.0
#include "support/edu_bar.hpp"

#include <linux/pci_regs.h>

namespace pagemix::test {
namespace {

constexpr std::size_t kBarBytes = 1 << 20;
constexpr std::size_t kSource = 0x80, kTarget = 0x88, kCount = 0x90, kCommand = 0x98;
constexpr std::uint64_t kRun = 1, kToMemory = 2;
constexpr std::uint64_t kDeviceMemory = 0x40000;

}  // namespace

EduBar::EduBar(const std::string& bdf) : folder_("/sys/bus/pci/devices/" + bdf) {
  const Fd resource(open((folder_ + "/resource0").c_str(), O_RDWR | O_CLOEXEC));
  if (resource && command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER))
    registers_ = Map(resource.get(), kBarBytes);
}

EduBar::~EduBar() { command(PCI_COMMAND_MEMORY); }

bool EduBar::command(std::uint16_t bits) const {
  const Fd config(open((folder_ + "/config").c_str(), O_WRONLY | O_CLOEXEC));
  return config && pwrite(config.get(), &bits, sizeof(bits), PCI_COMMAND) == sizeof(bits);
}

bool EduBar::transfer(std::uint64_t iova, bool to_memory) const {
  const auto at = [&](std::size_t offset) {
    return registers_.as<volatile std::uint64_t>() + offset / sizeof(std::uint64_t);
  };
  *at(kSource) = to_memory ? kDeviceMemory : iova;
  *at(kTarget) = to_memory ? iova : kDeviceMemory;
  *at(kCount) = sizeof(std::uint64_t);
  *at(kCommand) = kRun | (to_memory ? kToMemory : 0);
  // A transfer takes 100 ms; sleeping costs no instructions.
  for (int waited = 0; waited < 1000; waited += 101, usleep(1000)) {
    usleep(100000);
    if ((*at(kCommand) & kRun) == 0) return true;
  }
  return false;
}

}  // namespace pagemix::test
