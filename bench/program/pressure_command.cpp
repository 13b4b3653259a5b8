// SPDX-License-Identifier: Apache-2.0
#include "program/pressure_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <limits>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "machine/heap_client.hpp"

namespace pagemix::bench {
namespace {

namespace po = boost::program_options;

po::options_description option_table() {
  po::options_description options;
  const auto text = [](const std::string& name) {
    return po::value<std::string>()->value_name(name);
  };
  options.add_options()("state", text(join(memory_state_names(), "|")),
                        "what memory is brought into; must be given")(
      "seed", text("N"), "which pages are kept, what apps do; default 1")(
      "heap", text("NODE"), "takes blocks that are left over; default /dev/dma_heap/pagemix")(
      "block", text("SIZE"), "fragmented, pinned: no free block of this size; default 64K")(
      "unusable", text("PERCENT"),
      "fragmented, pinned: of the free memory in smaller blocks, 10..100; default 100")(
      "state_limit", text("SECONDS"), "of making it, 1..86400; default 300")(
      "cache_source", text("PATH"), "low, aged: folder on a disk, or block device to read")(
      "seconds", text("N"), "hold it so long, 1..86400; default: until Ctrl-C")(
      "help,h", "print this help and exit");
  return options;
}

std::uint64_t number(const po::variables_map& values, const char* key, std::uint64_t fallback,
                     std::uint64_t lowest, std::uint64_t highest) {
  if (values.count(key) == 0) return fallback;
  const std::string text = values[key].as<std::string>();
  const auto given = parse_number(text);
  if (!given || *given < lowest || *given > highest)
    throw UsageError(std::string("--") + key + ": \"" + text +
                     "\"; allowed: " + std::to_string(lowest) + ".." + std::to_string(highest));
  return *given;
}

std::string text_of(const po::variables_map& values, const char* key, const char* fallback) {
  return values.count(key) == 0 ? fallback : values[key].as<std::string>();
}

StateSpec spec_of(const po::variables_map& values) {
  StateSpec spec;
  spec.state = text_of(values, "state", "");
  if (std::ranges::find(memory_state_names(), spec.state) == memory_state_names().end())
    throw UsageError("--state: \"" + spec.state + "\"; allowed: " + join(memory_state_names()));
  spec.seed = number(values, "seed", 1, 0, std::numeric_limits<std::uint64_t>::max());
  spec.heap = text_of(values, "heap", kHeapNode);
  spec.limit = std::chrono::seconds(number(values, "state_limit", 300, 1, 86400));
  spec.cache_source = text_of(values, "cache_source", "");
  const std::string block = text_of(values, "block", "64K");
  const auto bytes = parse_size(block);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (!bytes || *bytes < 2 * page || *bytes > (1 << 20) || (*bytes & (*bytes - 1)) != 0)
    throw UsageError("--block: \"" + block + "\"; allowed: powers of two from " +
                     std::to_string(2 * page) + " to 1M");
  spec.block_bytes = *bytes;
  spec.unusable = static_cast<double>(number(values, "unusable", 100, 10, 100)) / 100;
  return spec;
}

// The command gets the signals; what it leaves is its exit code.
int run_under(MemoryState& state, const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork for " + command.front());
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(words.front(), words.data());
    std::cerr << "pagemix: start " << command.front() << ": " << errno_text(errno) << '\n';
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  state.check();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void hold(MemoryState& state, const std::optional<std::chrono::seconds>& limit) {
  const auto begin = std::chrono::steady_clock::now();
  while (!Interrupt::requested()) {
    if (limit && std::chrono::steady_clock::now() - begin >= *limit) return;
    state.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string cell(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace

CommandHelp pressure_help() {
  return {"pressure",
          "--state NAME [options] [-- COMMAND ...]",
          "bring memory into a state and hold it",
          "Brings memory into a state, says what was reached, holds it while COMMAND\n"
          "runs or until Ctrl-C, and undoes it. Exit code: the command's; 1 when the\n"
          "state cannot be reached.",
          {{"Options", option_table()}}};
}

std::optional<PressureOptions> parse_pressure(const std::vector<std::string>& arguments) {
  PressureOptions options;
  const auto end = std::ranges::find(arguments, "--");
  if (end != arguments.end()) {
    options.command.assign(end + 1, arguments.end());
    if (options.command.empty()) throw UsageError("no command after --; allowed: a program");
  }
  const auto given =
      parse_options(pressure_help(), std::vector<std::string>(arguments.begin(), end));
  if (!given) return std::nullopt;
  const po::variables_map& values = *given;
  options.spec = spec_of(values);
  if (values.count("seconds") != 0)
    options.hold = std::chrono::seconds(number(values, "seconds", 0, 1, 86400));
  if (options.hold && !options.command.empty())
    throw UsageError("--seconds beside a command; allowed: one of them");
  return options;
}

std::string format_memory(const MemorySnapshot& before, const MemorySnapshot& now) {
  std::string text = "order   free before      free now   unusable before   unusable now\n";
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order) {
    // Orders that this kernel does not have are empty in both.
    if (before.usable.pages_at_least(order) == 0 && now.usable.pages_at_least(order) == 0) break;
    text += cell("%5.0f", order) +
            cell("   %11.0f", static_cast<double>(before.usable.blocks[order])) +
            cell("   %11.0f", static_cast<double>(now.usable.blocks[order])) +
            cell("   %13.1f %%", before.usable.unusable(order) * 100) +
            cell("   %10.1f %%\n", now.usable.unusable(order) * 100);
  }
  return text;
}

int pressure_command(const PressureOptions& options) {
  const Interrupt interrupt;
  for (const std::string& line : restore_stale_settings()) std::cerr << "pagemix: " << line << '\n';
  const MemorySnapshot before = memory_snapshot();
  int code = kExitOk;
  {
    MemoryState state(options.spec, [](const std::string& line) {
      std::cerr << "pagemix: " << line << std::endl;
    });
    std::cout << "state " << options.spec.state << ": " << state.verdict().text << '\n'
              << format_memory(before, state.reached()) << std::flush;
    if (state.helper_pid() != 0) std::cout << "held by process " << state.helper_pid() << std::endl;
    if (options.command.empty())
      hold(state, options.hold);
    else
      code = run_under(state, options.command);
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::cout << "undone: free " << (memory_snapshot().free_pages * page >> 20) << " MiB, before "
            << (before.free_pages * page >> 20) << " MiB\n";
  return code;
}

}  // namespace pagemix::bench
