// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/iommufd.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "iommufd_uapi.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/type1.hpp"

namespace pagemix::vfio::iommu {
namespace {

namespace fs = std::filesystem;

UniqueFd open_iommufd(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const int errnum = errno;
    throw Error(errnum, "open " + path.string(),
                errnum == ENOENT || errnum == ENODEV
                    ? "the kernel offers no IOMMUFD: needs CONFIG_IOMMUFD; modprobe iommufd"
                : errnum == EACCES ? "needs root"
                                   : "");
  }
  return UniqueFd(fd);
}

/// /dev/vfio/devices/vfio<n> of a device bound to a VFIO driver.
fs::path device_node(const pci::DeviceInfo& device, const SystemPaths& paths) {
  const fs::path folder = pci::device_folder(device.bdf, paths) / "vfio-dev";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(paths.dev / "vfio/devices" / entry.path().filename(), error))
      return paths.dev / "vfio/devices" / entry.path().filename();
  throw Error(ENOENT, "open the VFIO node of " + device.bdf.text(),
              fs::exists(folder, error)
                  ? "the kernel makes none: needs CONFIG_VFIO_DEVICE_CDEV"
                  : "the device is not bound to vfio-pci (driver: " +
                        device.driver.value_or("none") + "), or the kernel is older than 6.1");
}

std::uint32_t map_flags(Access access) noexcept {
  const auto bits = static_cast<unsigned>(access);
  return uapi::map_fixed_iova |
         ((bits & static_cast<unsigned>(Access::read)) != 0 ? uapi::map_readable : 0) |
         ((bits & static_cast<unsigned>(Access::write)) != 0 ? uapi::map_writeable : 0);
}

}  // namespace

Iommufd::Iommufd(const pci::DeviceInfo& device, HugePages huge_pages, SystemPaths paths)
    : paths_(std::move(paths)),
      huge_pages_(huge_pages),
      iommufd_(open_iommufd(paths_.dev / "iommu")) {
  uapi::IoasAlloc alloc{};
  alloc.size = sizeof alloc;
  if (::ioctl(iommufd_.get(), uapi::ioas_alloc, &alloc) != 0)
    throw Error(errno, "IOMMU_IOAS_ALLOC");
  ioas_ = alloc.out_ioas_id;
  if (huge_pages_ == HugePages::off) {
    uapi::Option option{};
    option.size = sizeof option;
    option.option_id = uapi::option_huge_pages;
    option.op = uapi::option_set;
    option.object_id = ioas_;
    if (::ioctl(iommufd_.get(), uapi::option, &option) != 0)
      throw Error(errno, "IOMMU_OPTION_HUGE_PAGES 0 of " + name());
  }
  attach(device);
}

void Iommufd::attach(const pci::DeviceInfo& device) {
  if (!device.iommu_group)
    throw Error(ENODEV, "attach " + device.bdf.text(),
                "the device has no IOMMU group: no IOMMU translates for it");
  if (devices_.contains(device.bdf)) return;
  const fs::path node = device_node(device, paths_);
  const std::string operation = "attach " + device.bdf.text() + " by " + node.string();
  UniqueFd fd = open_file(node, O_RDWR);
  uapi::DeviceBind bind{};
  bind.argsz = sizeof bind;
  bind.iommufd = iommufd_.get();
  if (::ioctl(fd.get(), uapi::device_bind, &bind) != 0) {
    const int errnum = errno;
    if (errnum == EBUSY) pci::check_group_viable(device, paths_);
    throw Error(errnum, operation,
                errnum == EPERM    ? "the platform has no interrupt remapping, so a device could "
                                     "send any interrupt: iommufd takes no such risk unless "
                                     "/sys/module/iommufd/parameters/allow_unsafe_interrupts is 1"
                : errnum == EBUSY  ? "another process has the device or its IOMMU group open"
                : errnum == EINVAL ? "the device is bound to an address space already"
                                   : "");
  }
  uapi::DeviceAttach attach{};
  attach.argsz = sizeof attach;
  attach.pt_id = ioas_;
  if (::ioctl(fd.get(), uapi::device_attach, &attach) != 0) {
    const int errnum = errno;
    throw Error(errnum, operation,
                errnum == EPERM ? "the platform has no interrupt remapping: echo 1 > "
                                  "/sys/module/iommufd/parameters/allow_unsafe_interrupts"
                                : "");
  }
  devices_.emplace(device.bdf, std::move(fd));
  query();
}

void Iommufd::query() {
  // iommufd does not tell page sizes; its answer to type1's question does.
  uapi::VfioIoas compatible{};
  compatible.size = sizeof compatible;
  compatible.ioas_id = ioas_;
  compatible.op = uapi::vfio_ioas_set;
  if (::ioctl(iommufd_.get(), uapi::vfio_ioas, &compatible) != 0)
    throw Error(errno, "IOMMU_VFIO_IOAS of " + name());
  page_sizes_ = query_type1_info(iommufd_.get(), name()).page_sizes;

  std::vector<uapi::Range> told(8);
  uapi::IoasIovaRanges request{};
  do {
    request = {};
    request.size = sizeof request;
    request.ioas_id = ioas_;
    request.num_iovas = static_cast<std::uint32_t>(told.size());
    request.allowed_iovas = reinterpret_cast<std::uintptr_t>(told.data());
    const int failed = ::ioctl(iommufd_.get(), uapi::ioas_iova_ranges, &request);
    if (failed != 0 && errno != EMSGSIZE) throw Error(errno, "IOMMU_IOAS_IOVA_RANGES of " + name());
    if (request.num_iovas <= told.size()) break;
    told.resize(request.num_iovas);
  } while (true);
  ranges_.clear();
  for (std::uint32_t i = 0; i < request.num_iovas; ++i)
    ranges_.push_back({told[i].first, told[i].last});
  std::ranges::sort(ranges_, {}, &IovaRange::first);
}

int Iommufd::try_map(std::span<const std::byte> memory, std::uint64_t iova,
                     Access access) noexcept {
  uapi::IoasMap request{};
  request.size = sizeof request;
  request.flags = map_flags(access);
  request.ioas_id = ioas_;
  request.user_va = reinterpret_cast<std::uintptr_t>(memory.data());
  request.length = memory.size();
  request.iova = iova;
  return ::ioctl(iommufd_.get(), uapi::ioas_map, &request) == 0 ? 0 : -errno;
}

int Iommufd::try_map_file(int memfd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t iova,
                          Access access) noexcept {
  uapi::IoasMapFile request{};
  request.size = sizeof request;
  request.flags = map_flags(access);
  request.ioas_id = ioas_;
  request.fd = memfd;
  request.start = offset;
  request.length = bytes;
  request.iova = iova;
  return ::ioctl(iommufd_.get(), uapi::ioas_map_file, &request) == 0 ? 0 : -errno;
}

UnmapResult Iommufd::try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept {
  uapi::IoasUnmap request{};
  request.size = sizeof request;
  request.ioas_id = ioas_;
  request.iova = iova;
  request.length = bytes;
  if (::ioctl(iommufd_.get(), uapi::ioas_unmap, &request) != 0) return {-errno, 0};
  return {request.length == bytes ? 0 : -EMSGSIZE, request.length};
}

void Iommufd::map_file(int memfd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t iova,
                       Access access) {
  const int result = try_map_file(memfd, offset, bytes, iova, access);
  if (result == 0) return;
  std::string why;
  if (result == -ENOTTY)
    why = "the kernel has no IOMMU_IOAS_MAP_FILE: Linux 6.13 and later do";
  else if (result == -EFAULT || result == -EBADF)
    why = "not a descriptor of a memfd, or the range is beyond its end";
  else
    why = explain_map(-result, {reinterpret_cast<const std::byte*>(offset), bytes}, iova, access);
  throw Error(-result,
              "map " + std::to_string(bytes) + " bytes of a file at " + hex(iova) + " of " + name(),
              why);
}

std::string Iommufd::name() const {
  std::string text = "iommufd IOAS " + std::to_string(ioas_);
  if (huge_pages_ == HugePages::off) text += " without huge pages";
  for (const auto& [bdf, fd] : devices_) text += (fd ? " of " : " ") + bdf.text();
  return text;
}

UniqueFd Iommufd::open_device(const pci::DeviceInfo& device) {
  attach(device);
  // The node stays open as long as the device is attached.
  UniqueFd fd(::fcntl(devices_.at(device.bdf).get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) throw Error(errno, "open VFIO device " + device.bdf.text());
  return fd;
}

std::string Iommufd::explain_map(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                                 Access access) const {
  return explain_map_failure(
      describe_map_failure(errnum, memory, iova, access, granule(), iova_ranges()));
}

std::string Iommufd::explain_unmap(const UnmapResult& result, std::uint64_t iova,
                                   std::uint64_t bytes) const {
  switch (-result.error) {
    case ENOENT:
    case EINVAL:
    case EOVERFLOW:
      return ((iova | bytes) & (granule() - 1)) != 0 || bytes == 0
                 ? "IOVA and size must be multiples of the granule, " + std::to_string(granule()) +
                       " bytes, and not 0"
                 : "nothing is mapped there, or the range would cut a mapping in two; unmap whole "
                   "mappings";
    case EMSGSIZE:
      return "the kernel unmapped " + std::to_string(result.bytes) + " bytes instead";
    default:
      return {};
  }
}

}  // namespace pagemix::vfio::iommu
