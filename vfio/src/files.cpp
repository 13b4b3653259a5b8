// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio {

void UniqueFd::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

UniqueFd open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) throw Error(errno, "open " + path.string());
  return UniqueFd(fd);
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) return std::nullopt;
  return text.str();
}

std::optional<std::string> read_line(const std::filesystem::path& path) {
  std::optional<std::string> text = read_text(path);
  if (text) text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::optional<std::string> link_name(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return std::nullopt;
  return target.filename().string();
}

int write_attribute(const std::filesystem::path& path, const std::string& text) noexcept {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written < 0) return errno;
  return static_cast<size_t>(written) == text.size() ? 0 : EIO;
}

}  // namespace pagemix::vfio
