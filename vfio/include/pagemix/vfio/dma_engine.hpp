// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio {

/// A device that moves data between host memory and memory of its own (an
/// internal buffer, an NVMe namespace). One transfer is in flight at a time.
///
/// Every method throws Error naming the device. A mapping is not removed while
/// a transfer may use it: wait() first, then unmap.
class DmaEngine {
 public:
  virtual ~DmaEngine() = default;

  /// For messages: "edu 0000:00:02.0".
  virtual std::string name() const = 0;
  /// Largest transfer in bytes; at least one alignment().
  virtual std::uint64_t max_transfer_bytes() const noexcept = 0;
  /// IOVA and length of a transfer are multiples of it; 1 is possible.
  virtual std::uint64_t alignment() const noexcept = 0;
  /// Highest IOVA the device can address. Give it to iommu::Mapping as limit.
  virtual std::uint64_t max_iova() const noexcept = 0;
  /// Whether start_write() gives back what start_read() took. False for a
  /// device that is only read from, such as a drive driven read-only.
  virtual bool keeps_data() const noexcept = 0;

  /// The device will attempt DMA reads on exactly [iova, iova + bytes). If
  /// keeps_data(), the data is then in its own memory, at the place
  /// start_write() takes it from. Stores made to that memory before the call are seen by the
  /// device. May return before a byte is read. EINVAL, ERANGE: a limit above is broken, nothing is
  /// started. EBUSY: a transfer is in flight.
  virtual void start_read(std::uint64_t iova, std::uint64_t bytes) = 0;

  /// The device will attempt DMA writes of the first `bytes` of its own memory
  /// on exactly [iova, iova + bytes). Limits and errors as start_read().
  virtual void start_write(std::uint64_t iova, std::uint64_t bytes) = 0;

  /// All in-flight DMA is complete before wait() returns, and what the device
  /// wrote is seen by loads after it. ETIMEDOUT: the device does not finish.
  /// Whether a transfer that the IOMMU refused is reported is up to the device.
  virtual void wait() = 0;

  void read_memory(std::uint64_t iova, std::uint64_t bytes) {
    start_read(iova, bytes);
    wait();
  }
  void write_memory(std::uint64_t iova, std::uint64_t bytes) {
    start_write(iova, bytes);
    wait();
  }
  /// The device copies [source, source + bytes) to [target, target + bytes).
  /// Throws Error (ENOTSUP) unless keeps_data().
  void copy(std::uint64_t source, std::uint64_t target, std::uint64_t bytes) {
    if (!keeps_data())
      throw Error(ENOTSUP, "copy by " + name(), "the device does not keep what it reads");
    read_memory(source, bytes);
    write_memory(target, bytes);
  }
};

}  // namespace pagemix::vfio
