// SPDX-License-Identifier: Apache-2.0
// Ctrl-C: the case that runs ends, what is measured is kept.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>

namespace pagemix::bench {

/// While it lives, SIGINT, SIGTERM and SIGHUP are blocked in the creating
/// thread and received by one of its own. Blocked, they neither end the process
/// nor cut a system call short, so the first one lets the current case end. The
/// second one breaks the system call of the creating thread (EINTR): the
/// current case is given up, those before it stay. Create it before any other
/// thread; at most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// True after the first signal.
  static bool requested() noexcept;
  /// True after the second signal.
  static bool urgent() noexcept;

 private:
  void receive(pthread_t measuring);

  sigset_t signals_{};
  sigset_t previous_{};
  struct sigaction previous_wakeup_ {};
  std::thread receiver_;
};

/// Thrown when the second signal gave the current case up.
struct GivenUp {};

/// Throws GivenUp for an EINTR of the second signal, else as throw_errno().
[[noreturn]] void throw_measure_error(const std::string& what, int error);

}  // namespace pagemix::bench
