// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/signals.hpp"

#include <cerrno>
#include <cstring>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio {
namespace {

volatile std::sig_atomic_t pending_signal = 0;

extern "C" void pagemix_note_signal(int number) { pending_signal = number; }

}  // namespace

ExitSignals::ExitSignals() {
  pending_signal = 0;
  struct sigaction action {};
  action.sa_handler = pagemix_note_signal;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART sleeps and waits return EINTR, so that loops see the flag.
  for (size_t i = 0; i < std::size(signals_); ++i) sigaction(signals_[i], &action, &saved_[i]);
}

ExitSignals::~ExitSignals() {
  for (size_t i = 0; i < std::size(signals_); ++i) sigaction(signals_[i], &saved_[i], nullptr);
}

int ExitSignals::pending() noexcept { return pending_signal; }

void ExitSignals::throw_if_pending(const char* operation) {
  if (const int number = pending(); number != 0)
    throw Error(EINTR, operation, std::string("stopped by signal SIG") + sigabbrev_np(number));
}

}  // namespace pagemix::vfio
