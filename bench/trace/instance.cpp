// SPDX-License-Identifier: Apache-2.0
#include "trace/instance.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "pagemix/vfio/files.hpp"
#include "trace/libtracefs.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "pagemix-";
// Of each CPU. An allocation that falls to single pages wakes kswapd often; 4 MiB
// hold some 50,000 events.
constexpr std::size_t kBufferKib = 4096;

std::string tracing_folder() {
  // Not tracefs_tracing_dir(): that mounts tracefs where it is not.
  for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    struct statfs about {};
    if (statfs(folder, &about) == 0 && about.f_type == TRACEFS_MAGIC) {
      if (::access(folder, W_OK) != 0)
        throw RunError(std::string("no tracing: ") + folder + " may not be written (run as root)");
      return folder;
    }
  }
  throw RunError(
      fs::exists("/sys/kernel/tracing")
          ? "no tracing: tracefs is not mounted; mount -t tracefs nodev /sys/kernel/tracing"
          : "no tracing: this kernel has no tracefs (CONFIG_FTRACE)");
}

// Instances of other runs: those of dead processes go, a living one is a reason to stop.
void clear_instances(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/instances", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string rest = name.substr(std::string(kPrefix).size());
    const auto pid = parse_number(rest.substr(0, rest.find('-')));
    if (pid && *pid == static_cast<std::uint64_t>(getpid())) continue;
    if (pid && ::kill(static_cast<pid_t>(*pid), 0) == 0)
      throw RunError("tracing is busy: process " + std::to_string(*pid) + " traces by instance " +
                     name + "; two measurements would disturb each other");
    if (::rmdir(entry.path().c_str()) != 0)
      throw_errno("tracing is busy: remove stale instance " + entry.path().string());
  }
  if (error) throw RunError("list " + folder + "/instances: " + error.message());
}

}  // namespace

TraceInstance::TraceInstance(const std::string& purpose) {
  clear_instances(tracing_folder());
  const std::string name = kPrefix + std::to_string(getpid()) + "-" + purpose;
  instance_ = tracefs_instance_create(name.c_str());
  if (instance_ == nullptr) throw_errno("make tracing instance " + name);
  try {
    tracefs_trace_off(instance_);
    if (tracefs_instance_file_write(instance_, "trace_clock", "mono_raw") < 0)
      throw_errno("set the clock of the tracing instance to mono_raw");
    if (tracefs_instance_set_buffer_size(instance_, kBufferKib, -1) < 0)
      throw_errno("give the tracing instance " + std::to_string(kBufferKib) + " KiB a CPU");
    switch_fd_ = tracefs_instance_file_open(instance_, "tracing_on", O_WRONLY);
    if (switch_fd_ < 0) throw_errno("open tracing_on of the tracing instance");
  } catch (...) {
    tracefs_instance_destroy(instance_);
    tracefs_instance_free(instance_);
    throw;
  }
}

TraceInstance::~TraceInstance() {
  stop();
  ::close(switch_fd_);
  tracefs_instance_destroy(instance_);
  tracefs_instance_free(instance_);
}

void TraceInstance::start() noexcept { tracefs_trace_on_fd(switch_fd_); }

void TraceInstance::stop() noexcept { tracefs_trace_off_fd(switch_fd_); }

std::string TraceInstance::folder() const {
  char* folder = tracefs_instance_get_dir(instance_);
  const std::string text = folder;
  tracefs_put_tracing_file(folder);
  return text;
}

std::string TraceInstance::read(const std::string& file) const {
  return vfio::read_text(fs::path(folder()) / file).value_or("");
}

std::uint64_t TraceInstance::newly_lost() {
  std::uint64_t lost = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder() + "/per_cpu", ignored)) {
    std::istringstream lines(vfio::read_text(entry.path() / "stats").value_or(""));
    for (std::string line; std::getline(lines, line);)
      for (const char* key : {"overrun: ", "dropped events: ", "commit overrun: "})
        if (line.starts_with(key))
          lost += parse_number(line.substr(std::string(key).size())).value_or(0);
  }
  const std::uint64_t before = lost_;
  lost_ = lost;
  return lost - before;
}

}  // namespace pagemix::bench
