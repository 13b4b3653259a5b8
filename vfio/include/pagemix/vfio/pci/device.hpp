// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/iommu/address_space.hpp"
#include "pagemix/vfio/memory.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace pagemix::vfio::pci {

static_assert(std::endian::native == std::endian::little,
              "registers are little-endian and read without swapping");

/// A mapped BAR. Accesses are single loads and stores of the width of T, in
/// program order among each other, checked against bounds and alignment:
/// Error (ERANGE or EINVAL) names BAR and offset.
class Bar {
 public:
  Bar(MappedMemory memory, std::string name) : memory_(std::move(memory)), name_(std::move(name)) {}

  template <typename T>
  T read(std::uint64_t offset) const {
    check<T>(offset);
    return *reinterpret_cast<const volatile T*>(memory_.data() + offset);
  }
  template <typename T>
  void write(std::uint64_t offset, std::type_identity_t<T> value) {
    check<T>(offset);
    *reinterpret_cast<volatile T*>(memory_.data() + offset) = value;
  }
  std::uint64_t size() const noexcept { return memory_.size(); }

  /// The register itself, checked once, for measured paths; valid as long as
  /// the Bar or one moved from it.
  template <typename T>
  volatile T* at(std::uint64_t offset) {
    check<T>(offset);
    return reinterpret_cast<volatile T*>(memory_.data() + offset);
  }

 private:
  template <typename T>
  void check(std::uint64_t offset) const {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 8);
    if (offset % sizeof(T) != 0 || memory_.size() < sizeof(T) ||
        offset > memory_.size() - sizeof(T))
      bad_access(offset, sizeof(T));
  }
  [[noreturn]] void bad_access(std::uint64_t offset, std::size_t width) const;

  MappedMemory memory_;
  std::string name_;
};

/// One region of a VFIO device.
struct Region {
  std::uint64_t bytes = 0;   ///< 0: not implemented by the device
  std::uint64_t offset = 0;  ///< within the device descriptor
  bool readable = false;
  bool writable = false;
  bool mappable = false;
};

/// A PCI device opened through VFIO. The address space it was opened in
/// outlives it; Bar objects made from it may outlive it, but keep the device
/// open until they go. Errors are Error with device and operation.
class Device {
 public:
  /// Opens `info`, bound to vfio-pci, attached to `space`.
  Device(iommu::AddressSpace& space, const DeviceInfo& info);

  const DeviceInfo& info() const noexcept { return info_; }

  /// Asks for region `index` (VFIO_PCI_BAR0_REGION_INDEX.. of linux/vfio.h).
  Region region(unsigned index) const;

  /// Maps BAR `index`, 0..5. Throws ENODEV for an unimplemented BAR, ENOTSUP
  /// for one that cannot be mapped whole (I/O ports, MSI-X table on kernels
  /// before 4.16).
  Bar map_bar(unsigned index) const;

  /// Configuration space, T of 1, 2 or 4 bytes, `offset` aligned to it.
  template <typename T>
  T read_config(std::uint32_t offset) const {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 4);
    T value;
    config_io(offset, &value, sizeof value, false);
    return value;
  }
  template <typename T>
  void write_config(std::uint32_t offset, std::type_identity_t<T> value) {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 4);
    config_io(offset, &value, sizeof value, true);
  }

  /// Command register, bits Memory Space and Bus Master: without the second
  /// the device's DMA is dropped. Checked by reading back.
  void enable_bus_master();
  /// Ends all DMA of the device at the PCI level.
  void disable_bus_master();

  /// Whether the kernel has asked for the device: it is being unplugged or
  /// unbound, and the one who wants it waits until this object and its Bars go.
  bool removal_requested() const noexcept;

  /// Whether the platform can reset this function alone.
  bool can_reset() const noexcept { return can_reset_; }
  /// VFIO_DEVICE_RESET; throws ENOTSUP when can_reset() is false. Clears the
  /// command register's Bus Master bit on most devices.
  void reset();

 private:
  void config_io(std::uint32_t offset, void* value, std::size_t width, bool write) const;
  void set_command(std::uint16_t set, std::uint16_t clear);
  void watch_removal();

  DeviceInfo info_;
  UniqueFd fd_;
  UniqueFd removal_;  // eventfd
  Region config_;
  bool can_reset_ = false;
};

}  // namespace pagemix::vfio::pci
