// SPDX-License-Identifier: Apache-2.0
// What the guest tests share: descriptors, ioctls that return errno, buffers of
// the heap, the module, and the test device. Everything works on the real
// kernel; nothing here is a double.
#pragma once

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "pagemix.h"

namespace pagemix::test {

inline constexpr char kHeapNode[] = "/dev/dma_heap/pagemix";
inline constexpr std::uint64_t kMiB = 1 << 20;

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Owns a mapping.
class Map {
 public:
  Map() = default;
  Map(int fd, std::size_t bytes, int prot = PROT_READ | PROT_WRITE, int flags = MAP_SHARED)
      : data_(mmap(nullptr, bytes, prot, flags, fd, 0)), bytes_(bytes) {}
  Map(Map&& other) noexcept : data_(std::exchange(other.data_, MAP_FAILED)), bytes_(other.bytes_) {}
  Map& operator=(Map&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Map() { reset(); }
  void reset() {
    if (data_ != MAP_FAILED) munmap(std::exchange(data_, MAP_FAILED), bytes_);
  }
  explicit operator bool() const { return data_ != MAP_FAILED; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

/// ioctl(2); returns 0 or the errno.
inline int call(int fd, unsigned long request, void* arg) {
  return ioctl(fd, request, arg) < 0 ? errno : 0;
}

/// A valid PAGEMIX_IOC_ALLOC of `bytes` with the given steps.
inline pagemix_alloc alloc_args(std::uint64_t bytes, std::initializer_list<pagemix_step> steps,
                                pagemix_layout layout = PAGEMIX_LAYOUT_BUDDY) {
  pagemix_alloc args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.bytes = bytes;
  args.layout = layout;
  args.seed = 1;
  args.fd_flags = O_RDWR | O_CLOEXEC;
  for (const pagemix_step& step : steps) args.steps[args.nsteps++] = step;
  return args;
}

/// The mixes of configs/mixes.ini.
struct NamedMix {
  const char* name;
  std::vector<pagemix_step> steps;
};
const std::vector<NamedMix>& all_mixes();

/// Allocates from the heap; an empty Fd (errno set) on failure.
Fd allocate(std::uint64_t bytes, const std::vector<pagemix_step>& steps,
            pagemix_layout layout = PAGEMIX_LAYOUT_BUDDY);

/// A dma-buf of another exporter: udmabuf over a sealed memfd of `bytes`.
Fd foreign_dmabuf(std::size_t bytes);

/// The card node of the kernel's vgem; an empty Fd when it is not loaded.
Fd vgem_card();
/// A PRIME import: the importer's attachment lives until its destruction.
class Import {
 public:
  Import(int card, int dmabuf);
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  std::uint32_t handle() const { return handle_; }
  explicit operator bool() const { return handle_ != 0; }

 private:
  int card_;
  std::uint32_t handle_ = 0;
};
/// A new descriptor of an imported dma-buf.
Fd export_handle(int card, std::uint32_t handle);

/// First line of a file, without the newline; empty if it cannot be read.
std::string read_line(const std::string& path);
/// Writes `text`; returns 0 or errno.
int write_text(const std::string& path, const std::string& text);

/// PCI address of QEMU's edu device (1234:11e8), or "" with none.
std::string edu_device();
/// Binds `bdf` to `driver` by driver_override; "" unbinds and clears the override.
int bind_driver(const std::string& bdf, const std::string& driver);

/// A field of /proc/meminfo in KiB.
long meminfo_kib(const std::string& field);
/// Gives back empty slabs, and what KASAN keeps of freed objects in quarantine.
void shrink_slabs();
/// Free memory after dropping caches and shrinking slabs, pages on per-CPU lists
/// included, in KiB.
long settled_free_kib();
/// Users of a module; -1 when it is not loaded.
int module_refcount(const std::string& module);
/// delete_module(2), non-blocking; returns 0 or errno.
int unload_pagemix();
/// finit_module(2) of the module file that the image carries; returns 0 or errno.
int load_pagemix();

}  // namespace pagemix::test
