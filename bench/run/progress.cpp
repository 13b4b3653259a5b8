// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <iostream>

namespace pagemix::bench {
namespace {

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

Estimate::Estimate(std::size_t cases, std::size_t blocks) : cases_(cases), blocks_(blocks) {}

void Estimate::finished(std::size_t item, double seconds) {
  cases_.at(item).seconds += seconds;
  ++cases_.at(item).times;
  ++done_;
}

std::optional<double> Estimate::left() const {
  double seconds = 0;
  for (const Seen& seen : cases_) seconds += seen.seconds;
  if (done_ == 0) return std::nullopt;
  const double mean = seconds / static_cast<double>(done_);
  double left = 0;
  for (const Seen& seen : cases_) {
    const double each = seen.times == 0 ? mean : seen.seconds / static_cast<double>(seen.times);
    left += each * static_cast<double>(blocks_ - std::min(blocks_, seen.times));
  }
  return left;
}

std::string progress_line(std::size_t number, std::size_t total, const std::string& name,
                          const std::optional<double>& seconds_left) {
  const std::string all = std::to_string(total);
  std::string count = std::to_string(number);
  if (count.size() < all.size()) count.insert(0, all.size() - count.size(), ' ');
  std::string line = "[" + count + "/" + all + "] " + name;
  if (seconds_left)
    line += " " + std::to_string(static_cast<long>(std::ceil(*seconds_left))) + " s left";
  return line;
}

Progress::Progress(std::size_t cases, std::size_t blocks, bool plain)
    : estimate_(cases, blocks), terminal_(!plain && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_ && shown_) std::cerr << kClearLine << std::flush;
}

void Progress::starts(const std::string& name) {
  started_ = Clock::now();
  if (!terminal_ && shown_ && started_ - *shown_ < std::chrono::seconds(2)) return;
  shown_ = started_;
  const std::string line =
      progress_line(estimate_.done() + 1, estimate_.total(), name, estimate_.left());
  if (terminal_)
    std::cerr << kClearLine << line << std::flush;
  else
    std::cerr << line << '\n';
}

void Progress::finished(std::size_t item) {
  estimate_.finished(item, std::chrono::duration<double>(Clock::now() - started_).count());
}

void Progress::note(const std::string& text) {
  if (terminal_ && shown_) std::cerr << kClearLine;
  std::cerr << text << '\n';
}

}  // namespace pagemix::bench
