// SPDX-License-Identifier: Apache-2.0
// ioctl_fuzz: structured, seeded calls over both device nodes from two threads.
// Afterwards the module must map and unmap with the known counts, be unloadable,
// and all memory must be back. Needs QEMU's edu device and the module's file.
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>

#include "ioctl_fuzz/worker.hpp"
#include "support/health.hpp"
#include "support/number.hpp"

namespace pagemix::fuzz {
namespace {

using test::call;
using test::kMiB;

constexpr std::uint64_t kMostCalls = 100000000;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t calls = 10000;
};

constexpr char kHelp[] =
    "usage: ioctl_fuzz [--seed N] [--calls N]\n"
    "  --seed N   decides every call of either thread; default: 1\n"
    "  --calls N  calls of both threads, 10 to 100000000; default: 10000\n"
    "Exit code: 0 all is well, 1 something is not, 2 bad input.\n";

std::runtime_error failure(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

std::vector<std::string> operations(int target) {
  std::vector<std::string> names;
  pagemix_target_op op{};
  op.version = PAGEMIX_UAPI_VERSION;
  for (op.index = 0; !call(target, PAGEMIX_IOC_TARGET_OP, &op); op.index++)
    names.emplace_back(op.name);
  return names;
}

void share(Shared& shared) {
  shared.bdf = test::edu_device();
  if (shared.bdf.empty()) throw std::runtime_error("no edu device (1234:11e8) in this machine");
  shared.node = "/dev/pagemix/" + shared.bdf;
  errno = test::bind_driver(shared.bdf, "pagemix");
  if (errno) throw failure("bind " + shared.bdf + " to pagemix");
  shared.target = test::Fd(open(shared.node.c_str(), O_RDWR | O_CLOEXEC));
  if (!shared.target) throw failure("open " + shared.node);
  if (make_ring(shared.target.get(), kSharedCapacity)) throw failure("PAGEMIX_IOC_TARGET_RING");
  shared.ops = operations(shared.target.get());
  shared.buffer = test::allocate(64 << 10, {{0, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
  if (!shared.buffer) throw failure("allocate 64 KiB");
  shared.foreign = test::foreign_dmabuf(64 << 10);
  shared.largest = 4 * kMiB;
}

using Answers = std::map<std::string, std::map<int, std::uint64_t>>;

void add(Answers& total, const Answers& some) {
  for (const auto& [name, errors] : some)
    for (const auto& [error, count] : errors) total[name][error] += count;
}

// Both threads once through their calls; everything is closed again.
void fuzz(std::uint64_t seed, std::uint64_t calls, Answers& answers) {
  Shared shared;
  share(shared);
  std::array<std::unique_ptr<Worker>, 2> workers;
  for (std::size_t i = 0; i < workers.size(); i++)
    workers[i] = std::make_unique<Worker>(shared, i, seed * 2 + i);
  std::array<std::exception_ptr, 2> errors;
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < threads.size(); i++)
    threads[i] = std::thread([&, i] {
      try {
        workers[i]->run(calls / 2);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (const auto& worker : workers) add(answers, worker->answers());
}

// 10 MiB in pages: 2560 chunks, one DMA segment behind an IOMMU, as many calls
// of dma_map_page() as chunks and of iommu_map() as runs.
void check_counts() {
  Shared shared;
  share(shared);
  const test::Fd heap(open(test::kHeapNode, O_RDWR | O_CLOEXEC));
  const test::Fd buffer =
      test::allocate(10 * kMiB, {{0, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
  if (!buffer) throw failure("allocate 10 MiB");
  pagemix_buf_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  info.fd = buffer.get();
  if (call(heap.get(), PAGEMIX_IOC_BUF_INFO, &info)) throw failure("PAGEMIX_IOC_BUF_INFO");
  if (info.nr_chunks != 2560 || info.bytes != 10 * kMiB)
    throw std::runtime_error("10 MiB in pages have " + std::to_string(info.nr_chunks) + " chunks");
  const std::pair<const char*, std::uint64_t> known[] = {
      {"map_sgtable", 1},           {"unmap_sgtable", 1}, {"attach_map", 1},
      {"map_page", 2560},           {"unmap_page", 2560}, {"iommu_map", info.nr_runs},
      {"iommu_unmap", info.nr_runs}};
  for (const auto& [op, mapped] : known) {
    pagemix_target_run run{};
    run.version = PAGEMIX_UAPI_VERSION;
    std::strcpy(run.op, op);
    run.fd = buffer.get();
    run.repetitions = 4;
    errno = call(shared.target.get(), PAGEMIX_IOC_TARGET_RUN, &run);
    if (errno) throw failure(std::string("afterwards ") + op);
    if (run.completed != 4 || run.nr_mapped != mapped)
      throw std::runtime_error(std::string("afterwards ") + op + " took " +
                               std::to_string(run.completed) + " of 4 samples and mapped " +
                               std::to_string(run.nr_mapped) + ", known are " +
                               std::to_string(mapped));
  }
  pagemix_buf_attachments users{};
  users.version = PAGEMIX_UAPI_VERSION;
  users.fd = shared.buffer.get();
  if (call(heap.get(), PAGEMIX_IOC_BUF_ATTACHMENTS, &users) || users.attached)
    throw std::runtime_error("attachments stayed behind");
}

void reload() {
  errno = test::bind_driver(test::edu_device(), "");
  if (errno) throw failure("unbind");
  if (test::module_refcount("pagemix"))
    throw std::runtime_error("the module still has " +
                             std::to_string(test::module_refcount("pagemix")) + " users");
  for (const std::string& object : test::live_objects("pagemix"))
    throw std::runtime_error("the module has not freed " + object);
  errno = test::unload_pagemix();
  if (errno) throw failure("unload");
  errno = test::load_pagemix();
  if (errno) throw failure("load");
}

void report(const Answers& answers) {
  for (const auto& [name, errors] : answers) {
    std::printf("  %-18s", name.c_str());
    for (const auto& [error, count] : errors)
      std::printf(" %s %llu", error ? strerrorname_np(error) : "ok",
                  static_cast<unsigned long long>(count));
    std::printf("\n");
  }
}

// Every ioctl and every operation must have worked at least once, or the calls
// were not worth much.
void check_coverage(const Answers& answers) {
  for (const auto& [name, errors] : answers)
    if (!errors.contains(0) && name != "any_number" && name != "read" && name != "write" &&
        name != "munmap")
      throw std::runtime_error("no call of '" + name + "' succeeded");
}

int run(const Options& options) {
  std::printf("seed %llu, %llu calls, checkers: %s\n",
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.calls), test::Health::checkers().c_str());
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  sigaction(SIGUSR1, &nothing, nullptr);

  const test::Health health;
  Answers answers;
  // The first tenth fills the kernel's caches.
  fuzz(~options.seed, options.calls / 10, answers);
  check_counts();
  reload();
  const test::Memory before = test::Memory::settled();
  fuzz(options.seed, options.calls - options.calls / 10, answers);
  check_counts();
  reload();
  const test::Memory after = test::Memory::settled();
  report(answers);
  std::printf("free %ld KiB before, %ld after; slabs %ld KiB before, %ld after\n", before.free_kib,
              after.free_kib, before.slab_kib, after.slab_kib);
  std::fflush(stdout);
  // Without a loss both figures move by less than 300 KiB; a lost buffer is 64 KiB and more.
  std::vector<std::string> problems = health.problems();
  if (std::string growth = test::memory_growth(before, after); !growth.empty())
    problems.push_back(growth);
  for (const std::string& problem : problems) std::cerr << "ioctl_fuzz: " << problem << "\n";
  if (options.calls >= 2000) check_coverage(answers);
  return problems.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pagemix::fuzz

int main(int argc, char** argv) {
  pagemix::fuzz::Options options;
  pagemix::test::NumberOptions numbers;
  numbers.add("--seed", options.seed, 0, UINT64_MAX / 4);
  numbers.add("--calls", options.calls, 10, pagemix::fuzz::kMostCalls);
  if (const int done = numbers.parse("ioctl_fuzz", pagemix::fuzz::kHelp, argc, argv); done >= 0)
    return done;
  try {
    return pagemix::fuzz::run(options);
  } catch (const std::exception& error) {
    std::cerr << "ioctl_fuzz: " << error.what() << "\n";
    return 1;
  }
}
