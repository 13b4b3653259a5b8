// SPDX-License-Identifier: Apache-2.0
#include "pressure/helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace pagemix::bench {
namespace {

// Lines of the child: a tag and a text.
constexpr char kProgress = 'p';
constexpr char kReady = 'r';
constexpr char kFailed = 'f';

void send(int fd, char tag, const std::string& text) {
  const std::string line = tag + text + '\n';
  // A parent that is gone has no use for it.
  [[maybe_unused]] const ssize_t n = ::write(fd, line.data(), line.size());
}

void default_signals() {
  for (const int number : {SIGINT, SIGHUP}) ::signal(number, SIG_IGN);  // the parent decides
  for (const int number : {SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD}) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void child(int fd, pid_t parent, std::chrono::seconds limit,
                        const std::function<void(const HelperSide&)>& work) {
  default_signals();
  setpgid(0, 0);
  end_with_parent(parent);
  if (vfio::write_attribute("/proc/self/oom_score_adj", "1000") != 0) {
    send(fd, kFailed,
         "write 1000 to /proc/self/oom_score_adj: not allowed; without it the kernel "
         "might end another process first");
    _exit(1);
  }
  alarm(static_cast<unsigned>(limit.count()));
  try {
    work(HelperSide(fd));
  } catch (const std::exception& error) {
    send(fd, kFailed, error.what());
    _exit(1);
  }
  alarm(0);
  send(fd, kReady, "");
  for (;;) ::pause();
}

}  // namespace

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
}

void HelperSide::say(const std::string& text) const { send(fd_, kProgress, text); }

Helper::Helper(std::string name, std::chrono::seconds limit,
               const std::function<void(const HelperSide&)>& work)
    : name_(std::move(name)), limit_(limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("make a pipe to the helper of " + name_);
  from_child_ = vfio::UniqueFd(ends[0]);
  vfio::UniqueFd to_parent(ends[1]);
  // What the helper leaves when it is killed becomes this process's to wait for.
  prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  prctl(PR_SET_CHILD_SUBREAPER, 1UL);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(was_subreaper_));
    throw_errno("fork the helper of " + name_, error);
  }
  if (pid_ == 0) {
    from_child_.reset();
    child(to_parent.get(), parent, limit, work);
  }
  setpgid(pid_, pid_);  // whoever of the two comes first
}

Helper::~Helper() { stop(); }

void Helper::wait_ready(const std::function<void(const std::string&)>& progress) {
  std::string pending;
  for (;;) {
    if (Interrupt::urgent()) throw RunError(name_ + ": given up");
    pollfd waiting{from_child_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 200);
    if (ready < 0 && errno != EINTR) throw_errno("wait for the helper of " + name_);
    if (ready <= 0) continue;
    char data[1024];
    const ssize_t n = ::read(from_child_.get(), data, sizeof(data));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("read from the helper of " + name_);
    if (n == 0) {
      siginfo_t end{};
      waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT);
      lost(end);
    }
    pending.append(data, static_cast<std::size_t>(n));
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      const std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      if (line[0] == kReady) return;
      if (line[0] == kFailed) throw RunError(name_ + ": " + line.substr(1));
      progress(line.substr(1));
    }
  }
}

void Helper::check() {
  if (pid_ < 0) throw RunError(name_ + ": its helper is gone");
  siginfo_t end{};
  // Not reaped yet, so that its number stays that of the group.
  waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT);
  if (end.si_pid == pid_) lost(end);
}

void Helper::lost(const siginfo_t& end) {
  stop();
  const int number = end.si_status;
  if (end.si_code == CLD_EXITED)
    throw RunError(name_ + ": its helper ended with exit code " + std::to_string(number));
  std::string why =
      std::string("signal ") + std::to_string(number) + " (" + strsignal(number) + ")";
  if (number == SIGALRM)
    why = "the limit of " + std::to_string(limit_.count()) + " s: raise state_limit";
  if (number == SIGKILL)
    why +=
        ": the kernel ends it first when memory runs out, of the machine or of the control "
        "group (see dmesg)";
  throw RunError(name_ + ": its helper was ended by " + why +
                 "; the state is gone and its memory is free");
}

void Helper::stop() noexcept {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(-pid_, &status, 0) > 0 || errno == EINTR) {
  }
  pid_ = -1;
  prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(was_subreaper_));
}

}  // namespace pagemix::bench
