// SPDX-License-Identifier: Apache-2.0
// What hours of apps do to memory, compressed: processes that start, touch,
// map files, allocate buffers, fork, and exit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pressure/helper.hpp"
#include "pressure/page_cache.hpp"

namespace pagemix::bench {

/// Runs apps one after the other, so that the same seed gives the same history.
class Churn {
 public:
  /// @p heap: node of the heap that apps take buffers from. @p source: file that
  /// they map. Apps are as large as the machine's memory allows.
  Churn(std::uint64_t seed, std::string heap, CacheSource source);
  ~Churn();
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  /// @p steps app lifetimes, with never less than @p floor_pages free at a start.
  void run(unsigned steps, std::uint64_t floor_pages, const HelperSide& parent);
  /// Until @p free_pages are free lets apps, the oldest first, give back half of
  /// their memory in pieces; then ends apps, drawn by the seed. An app that has
  /// given back does nothing any more.
  void make_room(std::uint64_t free_pages);

  std::size_t apps() const { return apps_.size(); }
  unsigned started() const { return started_; }

 private:
  void start_app();
  void end_app();

  std::mt19937_64 random_;
  std::string heap_;
  CacheSource source_;
  vfio::UniqueFd file_;
  std::uint64_t unit_;  ///< bytes of the largest app's memory
  struct App {
    pid_t pid = 0;
    bool gave_back = false;  ///< and is stopped
  };
  std::vector<App> apps_;
  unsigned started_ = 0;
};

/// Size of an app's buffer: 70 % are one page, the others 2 to 256 pages,
/// even in the logarithm.
std::uint64_t draw_buffer_pages(std::mt19937_64& random);

}  // namespace pagemix::bench
