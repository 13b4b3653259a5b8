// SPDX-License-Identifier: Apache-2.0
#include "families/thread_run.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include "base/error.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {
namespace {

/// Restores the calling thread's CPUs.
class Pinned {
 public:
  explicit Pinned(int cpu) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) error_ = errno;
  }
  ~Pinned() { sched_setaffinity(0, sizeof(before_), &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int error() const { return error_; }

 private:
  cpu_set_t before_{};
  int error_ = 0;
};

struct Worker {
  TargetClient client;
  TargetClient::Run run;
  int cpu = 0;
  pagemix_target_run done{};
  int error = 0;
};

// What the threads wait for: all of them warmed up; the marker written.
struct Start {
  std::latch ready;
  std::atomic<bool> go = false;
};

void warm_up(Worker& worker, std::uint32_t repetitions) {
  if (repetitions == 0 || (worker.run.flags & PAGEMIX_RUN_COLD) != 0) return;
  TargetClient::Run run = worker.run;
  run.repetitions = repetitions;
  pagemix_target_run request = TargetClient::request(run);
  worker.error = worker.client.try_run(request);
}

// Thread 0 is the caller's, which signals reach; it writes the marker and starts all.
void work(Worker& worker, Start& start, std::uint32_t warmup, const Marker* marker,
          const std::string& name, std::uint32_t block) {
  const Pinned pinned(worker.cpu);
  worker.error = pinned.error();
  if (worker.error == 0) warm_up(worker, warmup);
  start.ready.count_down();
  if (marker != nullptr) {
    start.ready.wait();
    marker->begin(name, block);
    start.go = true;
    start.go.notify_all();
  } else {
    start.go.wait(false);
  }
  worker.done = TargetClient::request(worker.run);
  if (worker.error == 0) worker.error = worker.client.try_run(worker.done);
}

// The time in which every thread measures, in ticks.
std::pair<std::uint64_t, std::uint64_t> common_time(const std::vector<Worker>& workers) {
  std::uint64_t begin = 0;
  std::uint64_t end = ~std::uint64_t{0};
  for (const Worker& worker : workers) {
    const auto samples = worker.client.raw_samples(worker.done.completed);
    begin = std::max<std::uint64_t>(begin, samples.front().begin);
    end = std::min<std::uint64_t>(end, samples.back().end);
  }
  return {begin, end};
}

ModuleRun collect(const std::vector<Worker>& workers, bool together, const std::string& name,
                  std::map<std::string, double>& counters) {
  const auto [begin, end] = common_time(workers);
  ModuleRun result{.samples = {},
                   .iova = workers.front().done.iova,
                   .nr_mapped = workers.front().done.nr_mapped};
  double alone = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    const auto raw = worker.client.raw_samples(worker.done.completed);
    const std::vector<double> all = worker.client.samples(worker.done.completed);
    std::vector<double> kept;
    for (std::size_t k = 0; k < raw.size(); ++k)
      if (!together || (raw[k].begin >= begin && raw[k].end <= end)) kept.push_back(all[k]);
    alone += static_cast<double>(raw.size() - kept.size());
    if (kept.empty())
      throw RunError("run " + name + ": thread " + std::to_string(i) +
                     " mapped alone; more --iterations make the threads meet");
    counters["thread" + std::to_string(i) + "_median"] = summarize(kept).median;
    result.samples.insert(result.samples.end(), kept.begin(), kept.end());
  }
  counters["samples_alone"] = alone;
  return result;
}

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

ModuleRun run_threads(const Services& services, const TargetClient::Run& run,
                      std::span<const int> buffer_fds, const std::string& name, std::uint32_t block,
                      std::map<std::string, double>& counters) {
  services.device->module();  // bound
  const std::vector<int> cpus = usable_cpus();
  const Profile& profile = services.profile;
  std::vector<Worker> workers;
  workers.reserve(buffer_fds.size());
  for (std::size_t i = 0; i < buffer_fds.size(); ++i) {
    workers.push_back({.client = TargetClient(services.device->name(),
                                              std::max(profile.iterations, profile.warmup)),
                       .run = run,
                       .cpu = cpus.at(i)});
    workers.back().run.buffer_fd = buffer_fds[i];
    workers.back().run.repetitions = profile.iterations;
  }
  Start start{std::latch(static_cast<std::ptrdiff_t>(workers.size()))};
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i)
    threads.emplace_back([&, i] { work(workers[i], start, profile.warmup, nullptr, name, block); });
  work(workers.front(), start, profile.warmup, &services.marker, name, block);
  if (workers.front().error == EINTR)  // given up: the others' calls end as well
    for (std::thread& thread : threads) pthread_kill(thread.native_handle(), SIGUSR2);
  for (std::thread& thread : threads) thread.join();
  services.marker.end(name, block, profile.iterations * workers.size());
  for (const Worker& worker : workers)
    if (worker.error != 0) throw_measure_error("run " + name, worker.error);
  return collect(workers, services.clock == ClockKind::kHardwareNs, name, counters);
}

}  // namespace pagemix::bench
