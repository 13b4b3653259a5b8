// SPDX-License-Identifier: Apache-2.0
// The progress line: what runs and how long the rest takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace pagemix::bench {

/// Estimates the time left from the cases that have run: a case takes as long
/// as it did in earlier blocks, an unknown one as long as the mean of the known.
class Estimate {
 public:
  /// @p cases differ from 0 to @p cases - 1 and run @p blocks times each.
  Estimate(std::size_t cases, std::size_t blocks);

  void finished(std::size_t item, double seconds);
  /// Seconds left; nullopt before the first case has finished.
  std::optional<double> left() const;
  std::size_t done() const { return done_; }
  std::size_t total() const { return cases_.size() * blocks_; }

 private:
  struct Seen {
    double seconds = 0;
    std::size_t times = 0;
  };
  std::vector<Seen> cases_;
  std::size_t blocks_;
  std::size_t done_ = 0;
};

/// "[ 12/64] map_sgtable/mix:order4 35 s left"; no time while it is unknown.
std::string progress_line(std::size_t number, std::size_t total, const std::string& name,
                          const std::optional<double>& seconds_left);

/// Writes progress to standard error: on a terminal one line, rewritten; else
/// lines, one in two seconds at most, so that a log or a slow console stays short.
class Progress {
 public:
  /// @p plain: lines even on a terminal, as something else writes to it too.
  Progress(std::size_t cases, std::size_t blocks, bool plain);
  ~Progress();

  void starts(const std::string& name);
  void finished(std::size_t item);
  /// A line of its own that stays.
  void note(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  Estimate estimate_;
  bool terminal_;
  Clock::time_point started_{};
  std::optional<Clock::time_point> shown_;
};

}  // namespace pagemix::bench
