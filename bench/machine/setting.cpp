// SPDX-License-Identifier: Apache-2.0
#include "machine/setting.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "pagemix/vfio/error.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

// "/proc/sys/vm/x" as a name of one file: no setting has a '!'.
std::string note_name(std::string file) {
  std::ranges::replace(file, '/', '!');
  return file;
}

std::string setting_of(const fs::path& note) {
  std::string file = note.filename().string();
  std::ranges::replace(file, '!', '/');
  return file;
}

// The note, locked by this process and none that it forks (flock() would be); an empty descriptor
// when a living process holds it, or when it is not there and not to be made. The lock is gone with
// the first descriptor of the file that this process closes.
vfio::UniqueFd lock_note(const fs::path& note, bool create) {
  for (;;) {
    vfio::UniqueFd fd(::open(note.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600));
    if (!fd) {
      if (errno == ENOENT && !create) return {};
      throw_errno("open " + note.string());
    }
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (::fcntl(fd.get(), F_SETLK, &whole) != 0) {
      if (errno == EACCES || errno == EAGAIN) return {};
      throw_errno("lock " + note.string());
    }
    struct stat about {};
    if (::fstat(fd.get(), &about) != 0) throw_errno("look at " + note.string());
    // The one who held it may have removed it in between: then lock the new one.
    if (about.st_nlink != 0) return fd;
  }
}

std::string read_note(int fd) {
  char text[64];  // a number
  const ssize_t n = ::pread(fd, text, sizeof(text), 0);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

void write_note(int fd, const fs::path& note, const std::string& text) {
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw_errno("write " + note.string());
}

}  // namespace

Setting::Setting(std::string file, const std::string& value, const fs::path& notes)
    : file_(std::move(file)), note_(notes / note_name(file_)) {
  const std::string now = vfio::read_line(file_).value_or("");
  if (now.empty()) return;
  std::error_code error;
  fs::create_directories(notes, error);
  if (error) throw_errno("make " + notes.string(), error.value());
  lock_ = lock_note(note_, true);
  if (!lock_) throw RunError("change " + file_ + ": another pagemix has changed it and still runs");
  // What a killed process noted is older than what is there now.
  const std::string noted = read_note(lock_.get());
  const std::string old = noted.empty() ? now : noted;
  write_note(lock_.get(), note_, old);
  if (const int code = vfio::write_attribute(file_, value); code != 0) {
    if (noted.empty()) fs::remove(note_, error);
    throw_errno("write " + value + " to " + file_, code);
  }
  old_ = old;
}

Setting::~Setting() {
  if (old_.empty()) return;
  // A note that stays is tried again by the next start.
  if (vfio::write_attribute(file_, old_) != 0) return;
  std::error_code error;
  fs::remove(note_, error);
}

std::vector<std::string> restore_stale_settings(const fs::path& notes) {
  std::vector<std::string> lines;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(notes, error)) {
    const fs::path& note = entry.path();
    const vfio::UniqueFd lock = lock_note(note, false);
    if (!lock) continue;
    const std::string file = setting_of(note);
    const std::string old = read_note(lock.get());
    // Killed before it was written: nothing was changed yet.
    if (old.empty()) {
      fs::remove(note, error);
      continue;
    }
    const int code = vfio::write_attribute(file, old);
    if (code == 0) fs::remove(note, error);
    lines.push_back(code == 0
                        ? "restored " + file + " to " + old + ", left by a run that was killed"
                        : "restore " + file + " to " + old + ": " + errno_text(code));
  }
  return lines;
}

}  // namespace pagemix::bench
