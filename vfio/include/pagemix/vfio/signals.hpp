// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace pagemix::vfio {

/// While it lives, SIGINT, SIGTERM and SIGHUP set a flag instead of ending the
/// process, so that the program unwinds and Binding gives the device back.
///
/// The handler does not restore by itself: a device cannot leave vfio-pci
/// while this process holds its descriptor, the write would wait for ever.
/// A process that dies all the same leaves a state file for
/// restore_stale_bindings(). At most one object at a time.
class ExitSignals {
 public:
  ExitSignals();
  ~ExitSignals();
  ExitSignals(const ExitSignals&) = delete;
  ExitSignals& operator=(const ExitSignals&) = delete;

  /// Number of the signal that came, 0 for none.
  static int pending() noexcept;
  /// Throws Error (EINTR) naming `operation` once a signal came.
  static void throw_if_pending(const char* operation);

 private:
  static constexpr int signals_[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction saved_[3];
};

}  // namespace pagemix::vfio
