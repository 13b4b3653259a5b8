// SPDX-License-Identifier: Apache-2.0
#include "pressure/anonymous.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

constexpr std::size_t kPipeSlots = 256;  // pages a pipe holds; its table is 10 KiB
constexpr std::size_t kFillStep = 2048;  // pages between two looks at what is free

// SplitMix64 (public domain, Sebastiano Vigna 2015), of one number.
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t free_pages_now() {
  struct sysinfo now {};
  if (sysinfo(&now) != 0) throw_errno("sysinfo");
  return now.freeram * now.mem_unit / static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

AnonymousFill::AnonymousFill()
    : page_size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      capacity_(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES))) {
  void* memory = mmap(nullptr, capacity_ * page_size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw_errno("reserve " + std::to_string(capacity_) + " pages of addresses");
  base_ = static_cast<char*>(memory);
  // Without the config option there are no huge pages to forbid.
  if (madvise(base_, capacity_ * page_size_, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
    throw_errno("madvise(MADV_NOHUGEPAGE)");
}

AnonymousFill::~AnonymousFill() { munmap(base_, capacity_ * page_size_); }

void AnonymousFill::fill_until(std::uint64_t free_pages, const HelperSide& parent) {
  const std::uint64_t begin = free_pages_now();
  if (begin > free_pages)
    parent.say("filling " + std::to_string((begin - free_pages) * page_size_ >> 20) + " MiB");
  for (std::uint64_t free = begin; free > free_pages; free = free_pages_now()) {
    const std::size_t step = std::min<std::uint64_t>(free - free_pages, kFillStep);
    if (filled_ + step > capacity_)
      throw RunError(std::to_string(filled_) + " pages taken and still " + std::to_string(free) +
                     " free: the kernel takes pages away (swap?) as fast as they are filled");
    for (std::size_t i = 0; i < step; ++i) *static_cast<volatile char*>(page(filled_ + i)) = 1;
    filled_ += step;
  }
}

// Calls visit(index, frame) for every page that is present.
template <typename Visit>
void AnonymousFill::visit_frames(Visit visit) const {
  // Documentation/admin-guide/mm/pagemap.rst
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kFrame = (std::uint64_t{1} << 55) - 1;
  const vfio::UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) throw_errno("open /proc/self/pagemap");
  std::array<std::uint64_t, 1024> entries;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(base_) / page_size_;
  for (std::size_t at = 0; at < filled_; at += entries.size()) {
    const std::size_t count = std::min(entries.size(), filled_ - at);
    const ssize_t want = static_cast<ssize_t>(count * sizeof(entries[0]));
    if (pread(pagemap.get(), entries.data(), static_cast<std::size_t>(want),
              static_cast<off_t>((first + at) * sizeof(entries[0]))) != want)
      throw_errno("read /proc/self/pagemap");
    for (std::size_t i = 0; i < count; ++i) {
      if ((entries[i] & kPresent) == 0) continue;
      if ((entries[i] & kFrame) == 0)
        throw RunError(
            "/proc/self/pagemap shows no page frame numbers (run as root, with "
            "CAP_SYS_ADMIN)");
      visit(at + i, entries[i] & kFrame);
    }
  }
}

void AnonymousFill::punch_out(unsigned order, std::uint64_t seed, double whole) {
  std::vector<std::uint16_t> own;  // pages of this in each physical block
  visit_frames([&](std::size_t, std::uint64_t frame) {
    const std::uint64_t block = frame >> order;
    if (block >= own.size()) own.resize(block + block / 8 + 1);
    ++own[block];
  });
  // From the count to which of the block's pages is kept; 0: none.
  const auto whole_of_1000 = static_cast<std::uint64_t>(whole * 1000);
  for (std::size_t block = 0; block < own.size(); ++block) {
    if (own[block] == 0) continue;
    const std::uint64_t drawn = mixed(seed ^ mixed(block));
    own[block] = drawn % 1000 < whole_of_1000
                     ? 0
                     : static_cast<std::uint16_t>((drawn >> 10) % own[block] + 1);
  }
  kept_.clear();
  visit_frames([&](std::size_t index, std::uint64_t frame) {
    std::uint16_t& before = own[frame >> order];
    if (before != 0 && --before == 0) kept_.push_back(static_cast<std::uint32_t>(index));
  });
  std::size_t from = 0;
  const auto give_back = [&](std::size_t end) {
    if (end > from && madvise(page(from), (end - from) * page_size_, MADV_DONTNEED) != 0)
      throw_errno("madvise(MADV_DONTNEED)");
  };
  for (const std::uint32_t index : kept_) {
    give_back(index);
    from = index + std::size_t{1};
  }
  give_back(filled_);
}

void AnonymousFill::pin(const std::vector<vfio::UniqueFd>& pipes) {
  std::size_t pipe = 1;  // write ends are the odd ones
  std::size_t in_pipe = 0;
  for (const std::uint32_t index : kept_) {
    if (in_pipe == kPipeSlots) {
      pipe += 2;
      in_pipe = 0;
    }
    if (pipe >= pipes.size())
      throw RunError("pipes for " + std::to_string(pipes.size() / 2 * kPipeSlots) +
                     " pages are too few for " + std::to_string(kept_.size()));
    const iovec one{page(index), page_size_};
    if (vmsplice(pipes[pipe].get(), &one, 1, SPLICE_F_NONBLOCK) != static_cast<ssize_t>(page_size_))
      throw_errno("vmsplice page " + std::to_string(index) + " into a pipe");
    ++in_pipe;
  }
}

std::vector<vfio::UniqueFd> make_pipes(std::uint64_t pages) {
  std::vector<vfio::UniqueFd> ends;
  const auto bytes = static_cast<int>(kPipeSlots * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  for (std::uint64_t room = 0; room < pages; room += kPipeSlots) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
      throw_errno("make pipe " + std::to_string(ends.size() / 2) + " to pin pages");
    ends.emplace_back(pair[0]);
    ends.emplace_back(pair[1]);
    if (fcntl(pair[1], F_SETPIPE_SZ, bytes) < bytes)
      throw_errno("set the size of a pipe to " + std::to_string(bytes) +
                  " bytes (/proc/sys/fs/pipe-max-size)");
  }
  return ends;
}

void raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  // Root may go above the hard limit; if not, what is allowed has to do.
  limit.rlim_max = std::max<rlim_t>(limit.rlim_max, 65536);
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw_errno("getrlimit(RLIMIT_NOFILE)");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw_errno("setrlimit(RLIMIT_NOFILE)");
}

}  // namespace pagemix::bench
