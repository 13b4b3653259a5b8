// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/pci/device.hpp"

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::pci {

void Bar::bad_access(std::uint64_t offset, std::size_t width) const {
  const bool misaligned = offset % width != 0;
  throw Error(
      misaligned ? EINVAL : ERANGE,
      "access " + std::to_string(width) + " bytes at offset " + hex(offset) + " of " + name_,
      misaligned ? "the offset must be a multiple of the width"
                 : "the BAR has " + std::to_string(memory_.size()) + " bytes");
}

Device::Device(iommu::AddressSpace& space, const DeviceInfo& info)
    : info_(info), fd_(space.open_device(info)) {
  vfio_device_info reply{};
  reply.argsz = sizeof reply;
  if (::ioctl(fd_.get(), VFIO_DEVICE_GET_INFO, &reply) != 0)
    throw Error(errno, "VFIO_DEVICE_GET_INFO of " + info_.bdf.text());
  if ((reply.flags & VFIO_DEVICE_FLAGS_PCI) == 0)
    throw Error(ENOTSUP, "open VFIO device " + info_.bdf.text(), "VFIO says it is no PCI device");
  can_reset_ = (reply.flags & VFIO_DEVICE_FLAGS_RESET) != 0;
  config_ = region(VFIO_PCI_CONFIG_REGION_INDEX);
  if (reply.num_irqs > VFIO_PCI_REQ_IRQ_INDEX) watch_removal();
}

void Device::watch_removal() {
  const std::string operation = "watch for the removal of " + info_.bdf.text();
  removal_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!removal_) throw Error(errno, operation);
  const std::int32_t fd = removal_.get();
  alignas(vfio_irq_set) std::byte request[sizeof(vfio_irq_set) + sizeof fd];
  vfio_irq_set head{};
  head.argsz = sizeof request;
  head.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  head.index = VFIO_PCI_REQ_IRQ_INDEX;
  head.count = 1;
  std::memcpy(request, &head, sizeof head);
  std::memcpy(request + offsetof(vfio_irq_set, data), &fd, sizeof fd);
  if (::ioctl(fd_.get(), VFIO_DEVICE_SET_IRQS, request) != 0) throw Error(errno, operation);
}

bool Device::removal_requested() const noexcept {
  pollfd event{removal_.get(), POLLIN, 0};  // without the interrupt fd is -1: never ready
  return ::poll(&event, 1, 0) == 1 && (event.revents & POLLIN) != 0;
}

Region Device::region(unsigned index) const {
  vfio_region_info reply{};
  reply.argsz = sizeof reply;
  reply.index = index;
  if (::ioctl(fd_.get(), VFIO_DEVICE_GET_REGION_INFO, &reply) != 0)
    throw Error(errno,
                "VFIO_DEVICE_GET_REGION_INFO " + std::to_string(index) + " of " + info_.bdf.text());
  // VFIO_REGION_INFO_FLAG_CAPS with a mappable region means sparse areas, or
  // that the MSI-X table may be mapped too; a hole shows as a failing mmap.
  return {reply.size, reply.offset, (reply.flags & VFIO_REGION_INFO_FLAG_READ) != 0,
          (reply.flags & VFIO_REGION_INFO_FLAG_WRITE) != 0,
          (reply.flags & VFIO_REGION_INFO_FLAG_MMAP) != 0};
}

Bar Device::map_bar(unsigned index) const {
  const std::string name = "BAR " + std::to_string(index) + " of " + info_.bdf.text();
  if (index > VFIO_PCI_BAR5_REGION_INDEX) throw Error(EINVAL, "map " + name, "allowed: BAR 0..5");
  const Region bar = region(index);
  if (bar.bytes == 0) throw Error(ENODEV, "map " + name, "the device does not implement it");
  if (!bar.mappable)
    throw Error(ENOTSUP, "map " + name,
                "VFIO does not let it be mapped: I/O ports, or smaller than a page and shared");
  const int prot = (bar.readable ? PROT_READ : 0) | (bar.writable ? PROT_WRITE : 0);
  return Bar(MappedMemory(fd_.get(), bar.bytes, bar.offset, prot, name), name);
}

void Device::config_io(std::uint32_t offset, void* value, std::size_t width, bool write) const {
  const std::string operation = std::string(write ? "write " : "read ") + std::to_string(width) +
                                " bytes at " + hex(offset) + " of the configuration space of " +
                                info_.bdf.text();
  if (offset % width != 0)
    throw Error(EINVAL, operation, "the offset must be a multiple of the width");
  if (offset + width > config_.bytes)
    throw Error(ERANGE, operation, "it has " + std::to_string(config_.bytes) + " bytes");
  const auto at = static_cast<off_t>(config_.offset + offset);
  const ssize_t done =
      write ? ::pwrite(fd_.get(), value, width, at) : ::pread(fd_.get(), value, width, at);
  if (done < 0) throw Error(errno, operation);
  if (static_cast<std::size_t>(done) != width)
    throw Error(EIO, operation, "only " + std::to_string(done) + " bytes were transferred");
}

void Device::set_command(std::uint16_t set, std::uint16_t clear) {
  const auto old = read_config<std::uint16_t>(PCI_COMMAND);
  const auto wanted = static_cast<std::uint16_t>((old | set) & ~clear);
  write_config<std::uint16_t>(PCI_COMMAND, wanted);
  const auto now = read_config<std::uint16_t>(PCI_COMMAND);
  if ((now & set) != set || (now & clear) != 0)
    throw Error(EIO, "set the command register of " + info_.bdf.text() + " to " + hex(wanted),
                "it reads " + hex(now));
}

void Device::enable_bus_master() { set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0); }

void Device::disable_bus_master() { set_command(0, PCI_COMMAND_MASTER); }

void Device::reset() {
  const std::string operation = "reset " + info_.bdf.text();
  if (!can_reset_)
    throw Error(ENOTSUP, operation,
                "the platform has no way to reset this function alone (no FLR, no PM reset)");
  if (::ioctl(fd_.get(), VFIO_DEVICE_RESET) != 0) throw Error(errno, operation);
}

}  // namespace pagemix::vfio::pci
