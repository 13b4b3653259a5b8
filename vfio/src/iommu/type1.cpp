// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/type1.hpp"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/backend.hpp"

namespace pagemix::vfio::iommu {
namespace {

std::string no_interrupt_remapping() {
  return "the platform has no interrupt remapping, so a device could send any interrupt; if that "
         "risk is acceptable: echo 1 > /sys/module/vfio_iommu_type1/parameters/"
         "allow_unsafe_interrupts";
}

UniqueFd open_container(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const int errnum = errno;
    throw Error(errnum, "open " + path.string(),
                errnum == ENOENT || errnum == ENODEV ? "VFIO is not loaded: modprobe vfio-pci"
                : errnum == EACCES                   ? "needs root"
                                                     : "");
  }
  return UniqueFd(fd);
}

}  // namespace

Type1Container::Type1Container(const pci::DeviceInfo& device, SystemPaths paths)
    : paths_(std::move(paths)),
      container_(open_container(paths_.dev / "vfio/vfio")),
      by_page_(type1_huge_pages_disabled(paths_)) {
  const int version = ::ioctl(container_.get(), VFIO_GET_API_VERSION);
  if (version != VFIO_API_VERSION)
    throw Error(EPROTO, "open " + (paths_.dev / "vfio/vfio").string(),
                "VFIO API version " + std::to_string(version) + ", this program speaks " +
                    std::to_string(VFIO_API_VERSION));
  if (::ioctl(container_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1)
    throw Error(ENOTSUP, "open " + (paths_.dev / "vfio/vfio").string(),
                "the kernel offers no TYPE1v2 IOMMU: modprobe vfio_iommu_type1");
  attach(device);
}

UniqueFd Type1Container::open_group(const pci::DeviceInfo& device, int group) const {
  const std::filesystem::path path = paths_.dev / "vfio" / std::to_string(group);
  const std::string operation = "open " + path.string() + " for " + device.bdf.text();
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const int errnum = errno;
    std::string why;
    if (errnum == ENOENT)
      why = "no device of the group is bound to vfio-pci (driver of " + device.bdf.text() + ": " +
            device.driver.value_or("none") + ")";
    else if (errnum == EBUSY)
      why = "another process has the IOMMU group open";
    else if (errnum == EACCES || errnum == EPERM)
      why = "needs root";
    throw Error(errnum, operation, why);
  }
  UniqueFd owner(fd);

  vfio_group_status status{};
  status.argsz = sizeof status;
  if (::ioctl(fd, VFIO_GROUP_GET_STATUS, &status) != 0)
    throw Error(errno, "VFIO_GROUP_GET_STATUS of IOMMU group " + std::to_string(group));
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
    pci::check_group_viable(device, paths_);
    throw GroupNotViable(EBUSY, operation,
                         "the kernel says IOMMU group " + std::to_string(group) +
                             " is not viable: a device in it does its own DMA");
  }
  return owner;
}

void Type1Container::attach(const pci::DeviceInfo& device) {
  if (!device.iommu_group)
    throw Error(ENODEV, "attach " + device.bdf.text(),
                "the device has no IOMMU group: no IOMMU translates for it");
  const int group = *device.iommu_group;
  if (groups_.contains(group)) return;
  UniqueFd fd = open_group(device, group);
  const std::string operation = "attach " + device.bdf.text() + " to a type1 container";

  int raw = container_.get();
  if (::ioctl(fd.get(), VFIO_GROUP_SET_CONTAINER, &raw) != 0) {
    const int errnum = errno;
    throw Error(errnum, operation, errnum == EPERM ? no_interrupt_remapping() : "");
  }
  if (groups_.empty() && ::ioctl(raw, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
    const int errnum = errno;
    throw Error(errnum, operation, errnum == EPERM ? no_interrupt_remapping() : "");
  }
  groups_.emplace(group, std::move(fd));
  info_ = query();
}

Type1Info query_type1_info(int container, const std::string& name) {
  // The kernel says in argsz how much the capabilities need; a second device
  // may join in between, so ask until the size holds.
  std::vector<std::byte> reply(sizeof(vfio_iommu_type1_info));
  for (;;) {
    vfio_iommu_type1_info head{};
    head.argsz = static_cast<std::uint32_t>(reply.size());
    std::memcpy(reply.data(), &head, sizeof head);
    if (::ioctl(container, VFIO_IOMMU_GET_INFO, reply.data()) != 0)
      throw Error(errno, "VFIO_IOMMU_GET_INFO of " + name);
    std::memcpy(&head, reply.data(), sizeof head);
    if (head.argsz <= reply.size()) return parse_type1_info(reply);
    reply.assign(head.argsz, std::byte{0});
  }
}

int Type1Container::try_map(std::span<const std::byte> memory, std::uint64_t iova,
                            Access access) noexcept {
  vfio_iommu_type1_dma_map request{};
  request.argsz = sizeof request;
  request.flags = static_cast<std::uint32_t>(access);
  request.vaddr = reinterpret_cast<std::uintptr_t>(memory.data());
  request.iova = iova;
  request.size = memory.size();
  return ::ioctl(container_.get(), VFIO_IOMMU_MAP_DMA, &request) == 0 ? 0 : -errno;
}
static_assert(static_cast<unsigned>(Access::read) == VFIO_DMA_MAP_FLAG_READ &&
              static_cast<unsigned>(Access::write) == VFIO_DMA_MAP_FLAG_WRITE);

UnmapResult Type1Container::try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept {
  vfio_iommu_type1_dma_unmap request{};
  request.argsz = sizeof request;
  request.iova = iova;
  request.size = bytes;
  if (::ioctl(container_.get(), VFIO_IOMMU_UNMAP_DMA, &request) != 0) return {-errno, 0};
  // TYPE1v2 reports success with size 0 where nothing is mapped.
  if (request.size == bytes) return {0, bytes};
  return {request.size == 0 ? -ENOENT : -EMSGSIZE, request.size};
}

std::optional<std::uint32_t> Type1Container::available_mappings() const {
  return query().available_mappings;
}

std::string Type1Container::name() const {
  std::string text =
      groups_.size() == 1 ? "type1 container of IOMMU group" : "type1 container of IOMMU groups";
  for (const auto& [group, fd] : groups_) text += " " + std::to_string(group);
  return text;
}

UniqueFd Type1Container::open_device(const pci::DeviceInfo& device) {
  attach(device);
  const std::string bdf = device.bdf.text();
  const int fd =
      ::ioctl(groups_.at(*device.iommu_group).get(), VFIO_GROUP_GET_DEVICE_FD, bdf.c_str());
  if (fd < 0) {
    const int errnum = errno;
    throw Error(errnum, "open VFIO device " + bdf,
                errnum == ENODEV  ? "the device is not bound to vfio-pci"
                : errnum == EBUSY ? "the device is open already"
                                  : "");
  }
  return UniqueFd(fd);
}

std::string Type1Container::explain_map(int errnum, std::span<const std::byte> memory,
                                        std::uint64_t iova, Access access) const {
  MapFailure failure = describe_map_failure(errnum, memory, iova, access, granule(), iova_ranges());
  if (errnum == ENOSPC || errnum == E2BIG) failure.available_mappings = available_mappings();
  return explain_map_failure(failure);
}

std::string Type1Container::explain_unmap(const UnmapResult& result, std::uint64_t iova,
                                          std::uint64_t bytes) const {
  switch (-result.error) {
    case ENOENT:
      return "nothing is mapped there";
    case EMSGSIZE:
      return "the kernel unmapped " + std::to_string(result.bytes) + " bytes instead";
    case EINVAL:
      return ((iova | bytes) & (granule() - 1)) != 0 || bytes == 0
                 ? "IOVA and size must be multiples of the granule, " + std::to_string(granule()) +
                       " bytes, and not 0"
                 : "the range would cut a mapping in two; unmap whole mappings";
    default:
      return {};
  }
}

}  // namespace pagemix::vfio::iommu
