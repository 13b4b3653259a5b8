// SPDX-License-Identifier: Apache-2.0
// Errors that end the program, by exit code, and helpers that name the cause.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pagemix::bench {

/// Exit codes of every command.
enum ExitCode : int {
  kExitOk = 0,
  kExitRun = 1,            ///< the machine or the measurement failed
  kExitUsage = 2,          ///< command line, profile or mixes are wrong
  kExitInterrupted = 130,  ///< SIGINT or SIGTERM; what was measured is kept
};

/// Wrong command line or configuration: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The machine does not do what was asked: exit code 1.
class RunError : public std::runtime_error {
 public:
  /// @p errnum: the errno value that caused it; 0: none did.
  explicit RunError(const std::string& text, int errnum = 0)
      : std::runtime_error(text), errnum_(errnum) {}
  int errnum() const noexcept { return errnum_; }

 private:
  int errnum_;
};

/// "ENOMEM: Cannot allocate memory" for @p code (an errno value).
std::string errno_text(int code);

/// Throws RunError "<what>: <errno text>"; @p what names operation and object.
[[noreturn]] void throw_errno(std::string_view what, int code = errno);

}  // namespace pagemix::bench
