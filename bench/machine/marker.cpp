// SPDX-License-Identifier: Apache-2.0
#include "machine/marker.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.hpp"

namespace pagemix::bench {

Marker::Marker(const std::filesystem::path& file)
    : name_(file.string()),
      fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0644)) {
  if (!fd_) throw_errno("open marker file " + name_);
}

void Marker::begin(const std::string& name, std::uint32_t block) const {
  write("@pagemix begin " + name + " " + std::to_string(block) + "\n");
}

void Marker::end(const std::string& name, std::uint32_t block, std::uint64_t iterations) const {
  write("@pagemix end " + name + " " + std::to_string(block) + " " + std::to_string(iterations) +
        "\n");
}

void Marker::write(const std::string& line) const {
  if (!fd_) return;
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = ::write(fd_.get(), line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("write marker file " + name_);
    sent += static_cast<std::size_t>(n);
  }
  // The line must be out before the measured loop starts and before what
  // follows it: a serial port sends from a buffer.
  if (::isatty(fd_.get()) != 0)
    while (::tcdrain(fd_.get()) != 0)
      if (errno != EINTR) throw_errno("drain marker file " + name_);
}

}  // namespace pagemix::bench
