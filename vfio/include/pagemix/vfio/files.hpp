// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace pagemix::vfio {

/// Where the kernel's file systems are. Tests point these at a tree of files.
struct SystemPaths {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path dev = "/dev";
};

/// Owns one descriptor.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  void reset() noexcept;
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Opens `path` with `flags` | O_CLOEXEC; throws Error naming the path.
UniqueFd open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

/// Whole text of a small file; nullopt when it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

/// read_text() without trailing white space.
std::optional<std::string> read_line(const std::filesystem::path& path);

/// Name a symbolic link points at (its last component); nullopt without link.
std::optional<std::string> link_name(const std::filesystem::path& path);

/// Writes `text` with one write(2), as sysfs attributes want it. Returns 0 or
/// a positive errno value; never creates the file.
int write_attribute(const std::filesystem::path& path, const std::string& text) noexcept;

}  // namespace pagemix::vfio
