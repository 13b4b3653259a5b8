// SPDX-License-Identifier: Apache-2.0
// An instance of tracefs: tracing that disturbs nobody else's.
#pragma once

#include <cstdint>
#include <string>

struct tracefs_instance;

namespace pagemix::bench {

/// An instance of its own, whose clock is mono_raw, that of user_now_ns(): events
/// and samples compare. Records nothing until start(). Removed at the end.
class TraceInstance {
 public:
  /// RunError says why not: no tracefs, another pagemix that traces, no memory for
  /// the buffers. Removes what a killed pagemix has left behind. @p purpose, a word,
  /// tells instances of one process apart.
  explicit TraceInstance(const std::string& purpose);
  ~TraceInstance();
  TraceInstance(const TraceInstance&) = delete;
  TraceInstance& operator=(const TraceInstance&) = delete;

  tracefs_instance* get() const { return instance_; }

  /// Recording starts and stops.
  void start() noexcept;
  void stop() noexcept;

  /// Text of a file of the instance, such as "events/kmem/mm_page_alloc/format"; ""
  /// where there is none.
  std::string read(const std::string& file) const;

  /// Events that found no room since the last call.
  std::uint64_t newly_lost();

 private:
  std::string folder() const;

  tracefs_instance* instance_ = nullptr;
  int switch_fd_ = -1;
  std::uint64_t lost_ = 0;
};

}  // namespace pagemix::bench
