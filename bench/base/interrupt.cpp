// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

std::atomic<int> received{0};
std::atomic<bool> stopping{false};

void nothing(int) {}  // only there to make a system call return EINTR

void say(std::string_view text) {
  // A message that cannot be written has no better place to go.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Interrupt::Interrupt() {
  received = 0;
  stopping = false;
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&signals_, number);
  pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  // SIGUSR2 wakes the measuring thread; no SA_RESTART, calls shall end.
  struct sigaction wakeup {};
  wakeup.sa_handler = nothing;
  sigaction(SIGUSR2, &wakeup, &previous_wakeup_);
  receiver_ = std::thread(&Interrupt::receive, this, pthread_self());
}

Interrupt::~Interrupt() {
  stopping = true;
  pthread_kill(receiver_.native_handle(), SIGUSR1);
  receiver_.join();
  sigaction(SIGUSR2, &previous_wakeup_, nullptr);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

bool Interrupt::requested() noexcept { return received.load(std::memory_order_relaxed) > 0; }

bool Interrupt::urgent() noexcept { return received.load(std::memory_order_relaxed) > 1; }

void Interrupt::receive(pthread_t measuring) {
  for (int number = 0; sigwait(&signals_, &number) == 0;) {
    if (stopping) return;
    if (number == SIGUSR1) continue;  // someone else's, not ours to act on
    if (++received == 1) {
      say("\npagemix: interrupted: the current case ends, then what is measured is written; "
          "again to give up the current case\n");
    } else {
      pthread_kill(measuring, SIGUSR2);
    }
  }
}

void throw_measure_error(const std::string& what, int error) {
  if (error == EINTR && Interrupt::urgent()) throw GivenUp{};
  throw_errno(what, error);
}

}  // namespace pagemix::bench
