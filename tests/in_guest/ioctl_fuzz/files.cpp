// SPDX-License-Identifier: Apache-2.0
// Descriptors, mappings and threads around the ioctls.
#include <linux/dma-buf.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "ioctl_fuzz/worker.hpp"

namespace pagemix::fuzz {
namespace {

constexpr std::size_t kMostMappings = 8;
constexpr int kNoDescriptor = 4000;

int errno_of(long result) { return result < 0 ? errno : 0; }

}  // namespace

int Worker::buffer_fd() {
  if (buffers_.empty() || values_.one_in(4)) return shared_.buffer.get();
  return values_.pick(buffers_).get();
}

int Worker::target_fd() {
  // The shared one may have lost its device; a new file of the own node has not.
  return values_.one_in(3) || !target_ ? shared_.target.get() : target_.get();
}

// Mostly a buffer of ours; else closed, another exporter's, or no dma-buf at all.
int Worker::any_fd() {
  if (!values_.one_in(5)) return buffer_fd();
  const int others[] = {-1,
                        kNoDescriptor,
                        0,
                        heap_.get(),
                        target_.get(),
                        shared_.foreign.get(),
                        static_cast<int>(values_.wild32())};
  return values_.pick(others);
}

void Worker::map() {
  static constexpr int kProtections[] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_WRITE};
  static constexpr int kFlags[] = {MAP_SHARED, MAP_SHARED, MAP_SHARED, MAP_PRIVATE,
                                   MAP_SHARED | MAP_POPULATE};
  const auto page = static_cast<std::size_t>(getpagesize());
  const int nodes[] = {buffer_fd(), buffer_fd(), buffer_fd(), target_fd(), heap_.get()};
  const std::size_t bytes = values_.one_in(10) ? values_.wild() : page * (1 + values_.below(17));
  const std::uint64_t offset = values_.one_in(4) ? page * values_.below(20) : 0;
  void* at = mmap(nullptr, bytes, values_.pick(kProtections), values_.pick(kFlags),
                  values_.pick(nodes), static_cast<off_t>(values_.mostly(offset, 16)));
  note("mmap", at == MAP_FAILED ? errno : 0);
  if (at == MAP_FAILED) return;
  mappings_.push_back({static_cast<std::byte*>(at), bytes});
  if (mappings_.size() > kMostMappings) unmap();
}

// All of it, or first a page in the middle.
void Worker::unmap() {
  if (mappings_.empty()) return;
  const std::size_t which = values_.below(mappings_.size());
  const Mapping mapping = mappings_[which];
  const auto page = static_cast<std::size_t>(getpagesize());
  if (mapping.bytes > 2 * page && values_.one_in(3)) munmap(mapping.at + page, page);
  note("munmap", errno_of(munmap(mapping.at, mapping.bytes)));
  mappings_.erase(mappings_.begin() + static_cast<std::ptrdiff_t>(which));
}

// By way of the kernel, which answers EFAULT where a protection forbids it.
void Worker::touch() {
  if (mappings_.empty()) return;
  const Mapping& mapping = values_.pick(mappings_);
  static constexpr int kAdvice[] = {MADV_DONTNEED, MADV_WILLNEED, MADV_DONTFORK,
                                    MADV_COLD,     MADV_PAGEOUT,  MADV_FREE};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return note("touch", errno);
  const test::Fd out(ends[0]), in(ends[1]);
  std::byte* at = mapping.at + values_.below(mapping.bytes) / 64 * 64;
  const std::size_t bytes = std::min<std::size_t>(64, mapping.bytes);
  int err = errno_of(write(in.get(), at, bytes));
  if (!err) err = errno_of(read(out.get(), at, bytes));
  note("touch", err);
  if (values_.one_in(8))
    note("madvise", errno_of(madvise(mapping.at, mapping.bytes, values_.pick(kAdvice))));
  if (values_.one_in(8))
    note("mprotect", errno_of(mprotect(mapping.at, mapping.bytes, PROT_READ | PROT_WRITE)));
}

void Worker::cpu_access() {
  dma_buf_sync args{};
  args.flags = values_.mostly(values_.below(8), 6);
  // udmabuf's end syncs in the caller's direction what its begin mapped in another:
  // DMA_API_DEBUG would report udmabuf.
  const int fd = any_fd();
  note("cpu_access",
       test::call(fd == shared_.foreign.get() ? buffer_fd() : fd, DMA_BUF_IOCTL_SYNC, &args));
}

void Worker::poll_all() {
  std::array<pollfd, 3> files = {{{buffer_fd(), POLLIN | POLLOUT, 0},
                                  {target_fd(), POLLIN | POLLOUT, 0},
                                  {heap_.get(), POLLIN | POLLOUT, 0}}};
  note("poll", errno_of(poll(files.data(), files.size(), 0)));
}

void Worker::close_buffer() {
  if (buffers_.empty()) return;
  values_.pick(buffers_) = std::move(buffers_.back());
  buffers_.pop_back();
  note("close", 0);
}

void Worker::duplicate() {
  const int fd = dup(buffer_fd());
  note("dup", fd < 0 ? errno : 0);
  if (fd >= 0) keep(fd);
}

// The node goes while the device is bound again; ENOENT is an answer.
void Worker::reopen() {
  target_.reset();
  target_ = test::Fd(open(shared_.node.c_str(), O_RDWR | O_CLOEXEC));
  note("open", target_ ? 0 : errno);
  if (target_ && !values_.one_in(3)) make_ring(target_.get(), 256);
}

void Worker::read_write_seek() {
  const int nodes[] = {heap_.get(), target_fd(), buffer_fd()};
  const int fd = values_.pick(nodes);
  std::array<char, 16> room{};
  note("read", errno_of(read(fd, room.data(), room.size())));
  note("write", errno_of(write(fd, room.data(), room.size())));
  note("lseek", errno_of(lseek(fd, static_cast<off_t>(values_.mostly(0, 2)), SEEK_END)));
}

void Worker::signal_other() {
  const int thread = shared_.threads[1 - index_].load();
  if (thread) note("signal", errno_of(syscall(SYS_tgkill, getpid(), thread, SIGUSR1)));
}

void Worker::rebind() {
  if (shared_.rebinding.test_and_set()) return;
  note("unbind", test::bind_driver(shared_.bdf, ""));
  note("bind", test::bind_driver(shared_.bdf, "pagemix"));
  // Under the number that the other thread may be using now.
  const test::Fd fresh(open(shared_.node.c_str(), O_RDWR | O_CLOEXEC));
  if (fresh && !make_ring(fresh.get(), kSharedCapacity))
    dup3(fresh.get(), shared_.target.get(), O_CLOEXEC);
  shared_.rebinding.clear();
}

}  // namespace pagemix::fuzz
