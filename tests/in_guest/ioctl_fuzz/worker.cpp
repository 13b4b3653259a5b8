// SPDX-License-Identifier: Apache-2.0
#include "ioctl_fuzz/worker.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace pagemix::fuzz {

int make_ring(int target, std::uint64_t capacity) {
  pagemix_target_ring args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.capacity = capacity;
  return test::call(target, PAGEMIX_IOC_TARGET_RING, &args);
}

Worker::Worker(Shared& shared, std::size_t index, std::uint64_t seed)
    : shared_(shared),
      index_(index),
      values_(seed),
      heap_(open(test::kHeapNode, O_RDWR | O_CLOEXEC)),
      scratch_(-1, 2 * static_cast<std::size_t>(getpagesize()), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS),
      fixed_(-1, static_cast<std::size_t>(getpagesize()), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS) {
  if (!heap_) throw std::runtime_error(std::string(test::kHeapNode) + ": " + std::strerror(errno));
  if (!scratch_ || !fixed_) throw std::runtime_error("no memory for the scratch pages");
  mprotect(scratch_.as<std::byte>() + getpagesize(), static_cast<std::size_t>(getpagesize()),
           PROT_NONE);
  reopen();
}

Worker::~Worker() {
  for (const Mapping& mapping : mappings_) munmap(mapping.at, mapping.bytes);
}

void Worker::run(std::uint64_t calls) {
  const int thread = static_cast<int>(syscall(SYS_gettid));
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event._sigev_un._tid = thread;
  if (timer_create(CLOCK_MONOTONIC, &event, &watchdog_) < 0)
    throw std::runtime_error(std::string("timer_create: ") + std::strerror(errno));
  shared_.threads[index_] = thread;
  for (; calls; calls--) step();
  shared_.threads[index_] = 0;
  timer_delete(watchdog_);
}

void Worker::step() {
  using Call = void (Worker::*)();
  struct Weighted {
    Call call;
    unsigned weight;
  };
  static constexpr Weighted kCalls[] = {
      {&Worker::default_alloc, 8}, {&Worker::alloc, 16},          {&Worker::buf_info, 6},
      {&Worker::buf_runs, 6},      {&Worker::buf_attachments, 6}, {&Worker::heap_info, 2},
      {&Worker::target_info, 1},   {&Worker::target_op, 3},       {&Worker::target_ring, 6},
      {&Worker::target_run, 40},   {&Worker::any_number, 8},      {&Worker::map, 12},
      {&Worker::unmap, 6},         {&Worker::touch, 10},          {&Worker::cpu_access, 10},
      {&Worker::poll_all, 4},      {&Worker::close_buffer, 10},   {&Worker::duplicate, 4},
      {&Worker::reopen, 4},        {&Worker::read_write_seek, 3}, {&Worker::signal_other, 8},
  };
  static constexpr unsigned kTotal = [] {
    unsigned total = 0;
    for (const Weighted& entry : kCalls) total += entry.weight;
    return total;
  }();
  if (values_.one_in(1500)) return rebind();
  auto left = static_cast<unsigned>(values_.below(kTotal));
  for (const Weighted& entry : kCalls) {
    if (left < entry.weight) return (this->*entry.call)();
    left -= entry.weight;
  }
}

}  // namespace pagemix::fuzz
