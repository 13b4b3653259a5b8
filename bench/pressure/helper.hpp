// SPDX-License-Identifier: Apache-2.0
// The child process that holds memory, so that nothing else dies for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>

#include "pagemix/vfio/files.hpp"

namespace pagemix::bench {

/// What the child may use.
class HelperSide {
 public:
  explicit HelperSide(int fd) : fd_(fd) {}
  /// One line of progress for the parent.
  void say(const std::string& text) const;

 private:
  int fd_;
};

/// A forked child with oom_score_adj 1000: when memory runs out, the kernel
/// ends it first, and what it holds is free again. It also ends with its parent
/// (PR_SET_PDEATHSIG) and when @p limit is over while it still works (SIGALRM).
class Helper {
 public:
  /// Forks; the child runs @p work and then waits until it is stopped. What
  /// @p work throws is told to the parent, as is its return.
  Helper(std::string name, std::chrono::seconds limit,
         const std::function<void(const HelperSide&)>& work);
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// Waits until the work is done, and passes progress to @p progress. RunError
  /// when it failed, was killed, took too long, or the run was given up.
  void wait_ready(const std::function<void(const std::string&)>& progress);

  /// RunError when the child is gone: killed for want of memory or by somebody.
  void check();

  /// Ends the child and all of its children, and waits until their memory is free.
  void stop() noexcept;

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] void lost(const siginfo_t& end);

  std::string name_;
  std::chrono::seconds limit_;
  pid_t pid_ = -1;  ///< also the process group of the child and its children; -1 after stop()
  int was_subreaper_ = 0;
  vfio::UniqueFd from_child_;
};

/// In a child of the helper: ends with its parent, takes no Ctrl-C.
void end_with_parent(pid_t parent);

}  // namespace pagemix::bench
