// SPDX-License-Identifier: Apache-2.0
// reload_rounds: load the module, bind a device, run an operation, kill the
// program in the middle of it, unbind, unload; again and again. Each reload must
// be accepted, and slabs and free memory must stay flat. Needs QEMU's edu device.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "ioctl_fuzz/values.hpp"
#include "support/health.hpp"
#include "support/kernel.hpp"
#include "support/number.hpp"
#include "support/operation.hpp"

namespace pagemix::test {
namespace {

constexpr char kHelp[] =
    "usage: reload_rounds [--rounds N] [--seed N]\n"
    "  --rounds N  10 to 100000; default: 20\n"
    "  --seed N    decides when each run is killed; default: 1\n"
    "Exit code: 0 all is well, 1 something is not, 2 bad input.\n";

// Rounds that fill the kernel's caches before memory is compared.
constexpr std::uint64_t kWarmup = 8;

struct Options {
  std::uint64_t rounds = 20;
  std::uint64_t seed = 1;
};

void demand(int err, const std::string& what) {
  if (err) throw std::runtime_error(what + ": " + std::strerror(err));
}

// The child: one run of 10 MiB that would last for minutes. Never returns.
[[noreturn]] void run_operation(const std::string& node, std::uint64_t round) {
  const Fd target(open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!target) _exit(1);
  pagemix_target_ring ring{};
  ring.version = PAGEMIX_UAPI_VERSION;
  ring.capacity = PAGEMIX_MAX_SAMPLES;
  if (call(target.get(), PAGEMIX_IOC_TARGET_RING, &ring)) _exit(2);
  const Map samples(target.get(), ring.bytes);
  if (!samples) _exit(3);
  const NamedMix& mix = all_mixes()[round % all_mixes().size()];
  const Fd buffer = allocate(10 * kMiB, mix.steps, PAGEMIX_LAYOUT_SCATTERED);
  const Map memory(buffer.get(), 10 * kMiB);
  if (!memory) _exit(4);

  pagemix_target_op op{};
  op.version = PAGEMIX_UAPI_VERSION;
  pagemix_target_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  if (call(target.get(), PAGEMIX_IOC_TARGET_INFO, &info)) _exit(5);
  op.index = static_cast<std::uint32_t>(round % info.nr_ops);
  if (call(target.get(), PAGEMIX_IOC_TARGET_OP, &op)) _exit(6);
  pagemix_target_run run{};
  run.version = PAGEMIX_UAPI_VERSION;
  set_operation(run, op.name, buffer.get());
  run.repetitions = PAGEMIX_MAX_SAMPLES;
  // Every second time round the operations cold, where they have that.
  if (round / info.nr_ops % 2) {
    pagemix_target_run cold = run;
    cold.flags = PAGEMIX_RUN_COLD;
    cold.repetitions = 4000;
    if (!call(target.get(), PAGEMIX_IOC_TARGET_RUN, &cold)) _exit(0);
  }
  _exit(call(target.get(), PAGEMIX_IOC_TARGET_RUN, &run) ? 7 : 0);
}

// How the child ended; "" if it was killed as intended.
std::string ending(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return "";
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return "";  // done before
  return WIFEXITED(status) ? "ended with " + std::to_string(WEXITSTATUS(status))
                           : "died of signal " + std::to_string(WTERMSIG(status));
}

// `look` for what the module has not freed. Returns whether the run was still going
// when it was killed.
bool one_round(std::uint64_t round, fuzz::Values& values, bool look) {
  const std::string bdf = edu_device();
  if (bdf.empty()) throw std::runtime_error("no edu device (1234:11e8) in this machine");
  if (module_refcount("pagemix") < 0) demand(load_pagemix(), "load");
  demand(bind_driver(bdf, "pagemix"), "bind");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) demand(errno, "fork");
  if (!child) run_operation("/dev/pagemix/" + bdf, round);
  // From the middle of the allocation on.
  usleep(static_cast<useconds_t>(1000 + values.below(40000)));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (const std::string how = ending(status); !how.empty())
    throw std::runtime_error("the run " + how);
  demand(bind_driver(bdf, ""), "unbind");
  if (look)
    for (const std::string& object : live_objects("pagemix"))
      throw std::runtime_error("the module has not freed " + object);
  demand(unload_pagemix(), "unload");
  return WIFSIGNALED(status);
}

int run(const Options& options) {
  std::printf("%llu rounds, seed %llu, checkers: %s\n",
              static_cast<unsigned long long>(options.rounds),
              static_cast<unsigned long long>(options.seed), Health::checkers().c_str());
  const Health health;
  fuzz::Values values(options.seed);
  Memory before, now;
  std::uint64_t killed = 0;
  for (std::uint64_t round = 0; round < options.rounds; round++) {
    const bool last = round + 1 == options.rounds;
    const bool look = round + 1 == kWarmup || last || (round + 1) % 50 == 0;
    try {
      killed += one_round(round, values, look);
    } catch (const std::exception& error) {
      throw std::runtime_error("round " + std::to_string(round + 1) + ": " + error.what());
    }
    if (!look) continue;
    now = Memory::settled();
    if (round + 1 == kWarmup) before = now;
    std::printf("after %4llu rounds: free %ld KiB, slabs %ld KiB, IOMMU tables %ld KiB\n",
                static_cast<unsigned long long>(round + 1), now.free_kib, now.slab_kib,
                now.iommu_kib);
  }
  std::printf("%llu of %llu runs were killed\n", static_cast<unsigned long long>(killed),
              static_cast<unsigned long long>(options.rounds));
  demand(load_pagemix(), "load");
  std::vector<std::string> problems = health.problems();
  if (killed < options.rounds / 2) problems.emplace_back("most runs ended before they were killed");
  if (const std::string growth = memory_growth(before, now); !growth.empty())
    problems.push_back(growth);
  for (const std::string& problem : problems) std::cerr << "reload_rounds: " << problem << "\n";
  return problems.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pagemix::test

int main(int argc, char** argv) {
  pagemix::test::Options options;
  pagemix::test::NumberOptions numbers;
  numbers.add("--rounds", options.rounds, 10, 100000);
  numbers.add("--seed", options.seed, 0, UINT64_MAX);
  if (const int done = numbers.parse("reload_rounds", pagemix::test::kHelp, argc, argv); done >= 0)
    return done;
  try {
    return pagemix::test::run(options);
  } catch (const std::exception& error) {
    std::cerr << "reload_rounds: " << error.what() << "\n";
    return 1;
  }
}
