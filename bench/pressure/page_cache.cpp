// SPDX-License-Identifier: Apache-2.0
#include "pressure/page_cache.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "pressure/anonymous.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoopControl = "/dev/loop-control";

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

bool is_on_disk(const std::string& folder) {
  struct statfs about {};
  if (statfs(folder.c_str(), &about) != 0) return false;
  return about.f_type != TMPFS_MAGIC && about.f_type != RAMFS_MAGIC &&
         about.f_type != OVERLAYFS_SUPER_MAGIC && ::access(folder.c_str(), W_OK) == 0;
}

std::uint64_t device_bytes(const std::string& path) {
  const vfio::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t bytes = 0;
  if (!fd || ioctl(fd.get(), BLKGETSIZE64, &bytes) != 0) return 0;
  return bytes;
}

CacheSource sparse_file_in(const std::string& folder) {
  return {folder, CacheSource::Kind::kFile, memory_bytes()};
}

// The last descriptor of the device ends it (LO_FLAGS_AUTOCLEAR).
vfio::UniqueFd open_loop(std::uint64_t bytes) {
  const vfio::UniqueFd backing(memfd_create("pagemix-cache", MFD_CLOEXEC));
  if (!backing || ftruncate(backing.get(), static_cast<off_t>(bytes)) != 0)
    throw_errno("make a sparse memfd of " + format_size(bytes));
  const vfio::UniqueFd control(::open(kLoopControl, O_RDWR | O_CLOEXEC));
  if (!control) throw_errno(std::string("open ") + kLoopControl);
  for (int tries = 0; tries < 16; ++tries) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) throw_errno("LOOP_CTL_GET_FREE");
    const std::string path = "/dev/loop" + std::to_string(number);
    vfio::UniqueFd device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!device) throw_errno("open " + path);
    loop_config config{};
    config.fd = static_cast<__u32>(backing.get());
    config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) throw_errno("LOOP_CONFIGURE of " + path);  // else taken meanwhile
  }
  throw RunError("no free loop device in 16 tries");
}

CacheSource largest_device() {
  CacheSource best;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/sys/block", ignored)) {
    const std::string name = entry.path().filename().string();
    // Neither devices that are memory themselves nor those stacked on others.
    if (name.starts_with("zram") || name.starts_with("ram") || name.starts_with("loop") ||
        name.starts_with("dm-") || name.starts_with("md"))
      continue;
    const std::string path = "/dev/" + name;
    if (const std::uint64_t bytes = device_bytes(path); bytes > best.bytes)
      best = {path, CacheSource::Kind::kDevice, bytes};
  }
  return best;
}

}  // namespace

CacheSource find_cache_source(const std::string& wanted) {
  if (!wanted.empty()) {
    if (fs::is_directory(wanted)) {
      if (is_on_disk(wanted)) return sparse_file_in(wanted);
      throw RunError(
          "cache source " + wanted +
          ": on tmpfs, an initramfs or an overlay, or not writable; allowed: a folder on "
          "a disk, a block device");
    }
    const std::uint64_t bytes = device_bytes(wanted);
    if (bytes == 0)
      throw RunError("cache source " + wanted + ": neither a folder nor a readable block device");
    return {wanted, CacheSource::Kind::kDevice, bytes};
  }
  for (const char* folder : {"/var/tmp", "/tmp", "."})
    if (is_on_disk(folder)) return sparse_file_in(folder);
  if (::access(kLoopControl, R_OK | W_OK) == 0)
    return {"a loop device", CacheSource::Kind::kLoop, memory_bytes()};
  CacheSource device = largest_device();
  if (device.bytes == 0)
    throw RunError(
        "no source of page cache: /var/tmp, /tmp and the working folder are on no disk, "
        "and no block device can be read; modprobe loop, or pass --cache_source");
  return device;
}

vfio::UniqueFd CacheSource::open() const {
  if (kind == Kind::kLoop) return open_loop(bytes);
  if (kind == Kind::kDevice) {
    vfio::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw_errno("open " + path);
    return fd;
  }
  vfio::UniqueFd fd(::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) throw_errno("make a file without a name in " + path);
  // Holes take no room on the disk, and full pages in the cache.
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw_errno("make a sparse file of " + format_size(bytes) + " in " + path);
  return fd;
}

void fill_page_cache(const CacheSource& source, int fd, std::uint64_t free_pages,
                     const HelperSide& parent) {
  // More than once around: kswapd may take pages back while this reads.
  const std::uint64_t most = 4 * memory_bytes();
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t done = 0;
  parent.say("reading " + source.path + " into the page cache");
  for (std::uint64_t free = free_pages_now(); free > free_pages; free = free_pages_now()) {
    if (done >= most)
      throw RunError("cannot be reached: " + source.path + " holds " + format_size(source.bytes) +
                     ", and after " + format_size(done) + " were read " + std::to_string(free) +
                     " pages are free, more than " + std::to_string(free_pages) +
                     "; pass a larger --cache_source");
    const std::uint64_t at = done % source.bytes;
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), source.bytes - at);
    const ssize_t n = pread(fd, buffer.data(), want, static_cast<off_t>(at));
    if (n < 0) throw_errno("read " + source.path);
    if (n == 0)
      throw RunError("read " + source.path + ": nothing at " + std::to_string(at) + " of " +
                     std::to_string(source.bytes) + " bytes");
    done += static_cast<std::uint64_t>(n);
  }
}

void drop_page_cache(const CacheSource& source) noexcept {
  if (source.kind != CacheSource::Kind::kDevice) return;  // gone with its last descriptor
  const vfio::UniqueFd fd(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd) posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace pagemix::bench
