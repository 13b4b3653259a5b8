// SPDX-License-Identifier: Apache-2.0
// Function-graph tracing of a few kernel functions, by libtracefs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/instance.hpp"
#include "trace/stages.hpp"

struct tep_handle;

namespace pagemix::bench {

/// The kernel's tracer function_graph in an instance of tracefs of its own, of
/// these functions only. A traced call costs some thousand instructions more.
class GraphSession {
 public:
  /// Those of @p functions that the kernel can trace; one that the compiler made
  /// part of its caller, or written in assembler, is none. RunError says why not:
  /// no such tracer, none in an instance (before Linux 6.11), no function at all,
  /// or as TraceInstance.
  explicit GraphSession(std::span<const std::string> functions);
  ~GraphSession();
  GraphSession(const GraphSession&) = delete;
  GraphSession& operator=(const GraphSession&) = delete;

  /// Names by CallEvent::function.
  const std::vector<std::string>& functions() const { return functions_; }

  /// Recording starts and stops; both are outside of what is timed.
  void start() noexcept { instance_.start(); }
  void stop() noexcept { instance_.stop(); }

  /// What was recorded since the last call, in order of time. @p lost is set to
  /// the number of events that found no room.
  std::vector<CallEvent> drain(std::uint64_t& lost);

 private:
  void find_functions(std::span<const std::string> wanted);

  TraceInstance instance_;
  std::vector<std::string> functions_;
  std::vector<std::uint64_t> addresses_;  // of functions_, as the tracer tells them
  tep_handle* tep_ = nullptr;
};

}  // namespace pagemix::bench
