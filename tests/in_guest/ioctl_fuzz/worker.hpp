// SPDX-License-Identifier: Apache-2.0
// One thread of the fuzzer: the descriptors it holds and the calls it makes.
#pragma once

#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ioctl_fuzz/values.hpp"
#include "support/kernel.hpp"

namespace pagemix::fuzz {

/// Samples of the ring that both threads use.
inline constexpr std::uint64_t kSharedCapacity = 4096;

/// PAGEMIX_IOC_TARGET_RING; returns 0 or errno.
int make_ring(int target, std::uint64_t capacity);

/// What the threads share. Descriptors stay open from begin to end.
struct Shared {
  std::string node;              ///< path of the target's node
  std::string bdf;               ///< its device
  test::Fd target;               ///< both threads call into it
  test::Fd buffer;               ///< both threads map it
  test::Fd foreign;              ///< a dma-buf of udmabuf; empty where there is none
  std::vector<std::string> ops;  ///< the module's operations
  std::uint64_t largest;         ///< bytes of a buffer: from here to half of memory is left out
  std::array<std::atomic<int>, 2> threads{};  ///< thread ids, 0 when not running
  std::atomic_flag rebinding;                 ///< the device is being unbound and bound
};

class Worker {
 public:
  /// Calls of worker `index` are decided by `seed` alone.
  Worker(Shared& shared, std::size_t index, std::uint64_t seed);
  /// Everything it holds is closed and unmapped.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Makes `calls` calls.
  void run(std::uint64_t calls);

  /// How often each call had each errno: "alloc" -> 0 -> 12.
  const std::map<std::string, std::map<int, std::uint64_t>>& answers() const { return answers_; }

 private:
  struct Mapping {
    std::byte* at;
    std::size_t bytes;
  };

  void step();
  void note(const char* name, int err) { answers_[name][err]++; }

  // calls.cpp
  void default_alloc();
  void alloc();
  void buf_info();
  void buf_runs();
  void buf_attachments();
  void heap_info();
  void target_info();
  void target_op();
  void target_ring();
  void target_run();
  void any_number();
  template <typename T>
  int send_unchanged(int node, unsigned long request, T& args);
  template <typename T>
  int send(int node, unsigned long request, T& args);
  void keep(int fd);
  pagemix_alloc random_alloc();
  std::uint64_t random_bytes();
  void* bad_pointer(const void* args, std::size_t bytes);

  // files.cpp
  void map();
  void unmap();
  void touch();
  void cpu_access();
  void poll_all();
  void close_buffer();
  void duplicate();
  void reopen();
  void read_write_seek();
  void signal_other();
  void rebind();

  int any_fd();
  int buffer_fd();
  int target_fd();

  Shared& shared_;
  std::size_t index_;
  Values values_;
  test::Fd heap_;
  test::Fd target_;
  std::vector<test::Fd> buffers_;
  std::vector<Mapping> mappings_;
  test::Map scratch_;   ///< two pages; the second is not readable
  test::Map fixed_;     ///< a page that is read-only
  timer_t watchdog_{};  ///< ends runs that would last for minutes
  std::map<std::string, std::map<int, std::uint64_t>> answers_;
};

}  // namespace pagemix::fuzz
