// SPDX-License-Identifier: Apache-2.0
#include "pressure/churn.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/error.hpp"
#include "base/random.hpp"
#include "machine/dma_heap.hpp"
#include "pressure/anonymous.hpp"

namespace pagemix::bench {
namespace {

constexpr int kTrim = SIGUSR1;  // "memory is short: give back what you can"
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

void touch(char* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPage) *static_cast<volatile char*>(memory + at) = 1;
}

// Of one_of pieces of 1 to 16 pages one goes back.
void give_back_pieces(std::mt19937_64& random, char* memory, std::size_t bytes,
                      std::uint64_t one_of) {
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t piece = std::min<std::size_t>((1 + draw(random, 16)) * kPage, bytes - at);
    if (draw(random, one_of) == 0) madvise(memory + at, piece, MADV_DONTNEED);
    at += piece;
  }
}

// An app's own memory: touched, a third of it given back in pieces.
char* use_memory(std::mt19937_64& random, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* base = static_cast<char*>(memory);
  // Of a huge page pieces only go back when the kernel splits it, much later.
  madvise(base, bytes, MADV_NOHUGEPAGE);
  touch(base, bytes);
  give_back_pieces(random, base, bytes, 3);
  return base;
}

void map_file(std::mt19937_64& random, int file, std::uint64_t file_bytes) {
  const std::size_t bytes = std::min<std::uint64_t>((1 + draw(random, 512)) * kPage, file_bytes);
  const auto offset = static_cast<off_t>(draw(random, (file_bytes - bytes) / kPage + 1) * kPage);
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, offset);
  if (memory == MAP_FAILED) return;
  const char* base = static_cast<const char*>(memory);
  for (std::size_t at = 0; at < bytes; at += kPage)
    [[maybe_unused]] const char seen = *static_cast<const volatile char*>(base + at);
}

// Buffers as a display and camera pipeline holds them; half are given back.
void use_buffers(std::mt19937_64& random, const std::string& heap_node) {
  const DmaHeap heap(heap_node);
  const std::uint64_t count = 16 + draw(random, 48);
  for (std::uint64_t i = 0; i < count; ++i) {
    int buffer = -1;
    if (heap.try_allocate(draw_buffer_pages(random) * kPage, buffer) != 0) continue;
    if (draw(random, 2) == 0) ::close(buffer);
  }
}

// A child that writes to a part of what it shares with its parent.
void fork_and_write(std::mt19937_64& random, char* memory, std::size_t bytes) {
  const std::size_t part = bytes / (1 + draw(random, 8)) / kPage * kPage;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    end_with_parent(parent);
    touch(memory, part);
    _exit(0);
  }
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
}

[[noreturn]] void app(std::uint64_t seed, std::uint64_t unit, const std::string& heap, int file,
                      std::uint64_t file_bytes, int ready) {
  std::mt19937_64 random(seed);
  sigset_t trim;
  sigemptyset(&trim);
  sigaddset(&trim, kTrim);
  sigprocmask(SIG_BLOCK, &trim, nullptr);
  const std::size_t bytes = (unit >> draw(random, 5)) / kPage * kPage;
  char* memory = nullptr;
  try {
    memory = use_memory(random, bytes);
    map_file(random, file, file_bytes);
    use_buffers(random, heap);
    if (memory != nullptr && draw(random, 3) == 0) fork_and_write(random, memory, bytes);
  } catch (const std::exception&) {
    _exit(1);  // the helper sees no ready byte, and says so
  }
  [[maybe_unused]] const ssize_t n = ::write(ready, "r", 1);
  ::close(ready);
  int number = 0;
  sigwait(&trim, &number);
  if (memory != nullptr) give_back_pieces(random, memory, bytes, 2);
  for (;;) ::raise(SIGSTOP);  // the helper sees that it is done
}

}  // namespace

std::uint64_t draw_buffer_pages(std::mt19937_64& random) {
  if (draw(random, 10) < 7) return 1;
  const std::uint64_t half = std::uint64_t{1} << (1 + draw(random, 8));  // 2..256
  return half + (half < 256 ? draw(random, half) : 0);
}

Churn::Churn(std::uint64_t seed, std::string heap, CacheSource source)
    : random_(seed),
      heap_(std::move(heap)),
      source_(std::move(source)),
      file_(source_.open()),
      unit_(std::max<std::uint64_t>(
          static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * kPage / 64, kMiB)) {
  const DmaHeap usable(heap_);  // its error names what is wrong; an app's would not
}

Churn::~Churn() {
  while (!apps_.empty()) end_app();
}

void Churn::start_app() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("make a pipe to an app");
  vfio::UniqueFd from_app(ends[0]);
  vfio::UniqueFd to_helper(ends[1]);
  const std::uint64_t seed = random_();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork app " + std::to_string(started_));
  if (pid == 0) {
    end_with_parent(parent);
    app(seed, unit_, heap_, file_.get(), source_.bytes, to_helper.get());
  }
  to_helper.reset();
  apps_.push_back({pid});
  ++started_;
  char ready = 0;
  ssize_t n = 0;
  while ((n = ::read(from_app.get(), &ready, 1)) < 0 && errno == EINTR) {
  }
  if (n == 1) return;
  int status = 0;
  waitpid(pid, &status, 0);
  apps_.pop_back();
  throw RunError("app " + std::to_string(started_) + " ended early" +
                 (WIFSIGNALED(status)
                      ? " by signal " + std::to_string(WTERMSIG(status)) + " (out of memory?)"
                      : ""));
}

void Churn::end_app() {
  const std::size_t index = draw(random_, apps_.size());
  const pid_t pid = apps_[index].pid;
  apps_.erase(apps_.begin() + static_cast<std::ptrdiff_t>(index));
  ::kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

void Churn::run(unsigned steps, std::uint64_t floor_pages, const HelperSide& parent) {
  // The largest app, its file and buffers, and a copy of its memory.
  const std::uint64_t room = floor_pages + 2 * unit_ / kPage + 1024;
  for (unsigned i = 0; i < steps; ++i) {
    while (!apps_.empty() && free_pages_now() < room) end_app();
    start_app();
    if (i % 50 == 49) parent.say(std::to_string(started_) + " apps have run");
  }
}

void Churn::make_room(std::uint64_t free_pages) {
  for (App& app : apps_) {
    if (free_pages_now() >= free_pages) return;
    if (app.gave_back) continue;
    ::kill(app.pid, kTrim);
    int status = 0;
    while (waitpid(app.pid, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    app.gave_back = true;
  }
  while (!apps_.empty() && free_pages_now() < free_pages) end_app();
}

}  // namespace pagemix::bench
