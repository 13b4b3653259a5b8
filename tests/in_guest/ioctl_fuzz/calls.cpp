// SPDX-License-Identifier: Apache-2.0
// The ioctls of both nodes.
#include <algorithm>
#include <cstring>

#include "ioctl_fuzz/worker.hpp"
#include "support/operation.hpp"

namespace pagemix::fuzz {
namespace {

constexpr std::size_t kMostBuffers = 6;
constexpr std::uint64_t kSmallBytes[] = {1, 4095, 4096, 4097, 16384, 65536, 65536, 131072};
constexpr std::uint64_t kLargeBytes[] = {1 << 20, 2 << 20, 3 << 20, 4 << 20};

// An address the kernel can neither read nor write.
void* const kUnmapped = reinterpret_cast<void*>(0x10);

}  // namespace

// In the scratch pages so that the structure ends where nothing can be read, or
// where it can be read but not written, or at an odd address.
void* Worker::bad_pointer(const void* args, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(getpagesize());
  auto* scratch = scratch_.as<std::byte>();
  switch (values_.below(5)) {
    case 0:
      return nullptr;
    case 1:
      return kUnmapped;
    case 2:  // cut off
      return scratch + page - std::min(bytes, 1 + values_.below(bytes));
    case 3:
      std::memcpy(scratch + 1, args, std::min(bytes, page - 1));
      return scratch + 1;
    default:  // the result cannot be written back
      mprotect(fixed_.as<void>(), page, PROT_READ | PROT_WRITE);
      std::memcpy(fixed_.as<void>(), args, std::min(bytes, page));
      mprotect(fixed_.as<void>(), page, PROT_READ);
      return fixed_.as<void>();
  }
}

// Where the structure lies is seldom a good place; a result comes back from there.
template <typename T>
int Worker::send_unchanged(int node, unsigned long request, T& args) {
  if (!values_.one_in(25)) return test::call(node, request, &args);
  void* place = bad_pointer(&args, sizeof(args));
  const int err = test::call(node, request, place);
  if (!err) std::memcpy(&args, place, sizeof(args));
  return err;
}

template <typename T>
int Worker::send(int node, unsigned long request, T& args) {
  if (values_.one_in(12)) args.version = values_.wild32();
  if (values_.one_in(20)) values_.scribble(std::as_writable_bytes(std::span(&args, 1)));
  return send_unchanged(node, request, args);
}

std::uint64_t Worker::random_bytes() {
  if (values_.one_in(24)) return values_.pick(kLargeBytes);
  if (values_.one_in(6)) {
    const std::uint64_t bytes = values_.wild();
    // The kernel would give as much, and soon run out of memory.
    return bytes > shared_.largest && bytes < (1ULL << 40) ? shared_.largest : bytes;
  }
  return values_.pick(kSmallBytes);
}

void Worker::keep(int fd) {
  test::Fd buffer(fd);
  if (buffers_.size() < kMostBuffers)
    buffers_.push_back(std::move(buffer));
  else
    values_.pick(buffers_) = std::move(buffer);  // swaps: the old one is closed
}

void Worker::default_alloc() {
  dma_heap_allocation_data args{};
  args.len = random_bytes();
  args.fd_flags = values_.mostly32(O_RDWR | O_CLOEXEC, 8);
  args.fd = values_.one_in(12) ? values_.wild32() : 0;
  args.heap_flags = values_.one_in(12) ? values_.wild() : 0;
  const int err = send_unchanged(heap_.get(), DMA_HEAP_IOCTL_ALLOC, args);
  if (!err) keep(static_cast<int>(args.fd));
  note("default_alloc", err);
}

pagemix_alloc Worker::random_alloc() {
  pagemix_alloc args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.flags = values_.one_in(16) ? values_.wild32() : 0;
  args.bytes = random_bytes();
  args.seed = values_.bits();
  args.layout = static_cast<std::uint32_t>(values_.below(2));
  args.layout = values_.mostly32(args.layout, 16);
  args.nsteps = static_cast<std::uint32_t>(1 + values_.below(PAGEMIX_MAX_STEPS));
  std::uint32_t order = static_cast<std::uint32_t>(values_.below(11));
  for (std::uint32_t i = 0; i < args.nsteps; i++) {
    if (i + 1 == args.nsteps && !values_.one_in(4)) order = 0;
    args.steps[i].order = values_.mostly32(order, 40);
    args.steps[i].gfp = values_.mostly32(static_cast<std::uint32_t>(values_.below(3)), 40);
    order -= static_cast<std::uint32_t>(values_.below(order + 1));
  }
  args.nsteps = values_.mostly32(args.nsteps, 16);
  args.fd_flags = values_.mostly32(O_RDWR | O_CLOEXEC, 16);
  return args;
}

void Worker::alloc() {
  pagemix_alloc args = random_alloc();
  // A scribble could ask for more than the size was limited to.
  if (values_.one_in(12)) args.version = values_.wild32();
  const int err = send_unchanged(heap_.get(), PAGEMIX_IOC_ALLOC, args);
  if (!err) keep(args.fd);
  note("alloc", err);
}

void Worker::heap_info() {
  pagemix_heap_info args{};
  args.version = PAGEMIX_UAPI_VERSION;
  note("heap_info", send(heap_.get(), PAGEMIX_IOC_HEAP_INFO, args));
}

void Worker::buf_info() {
  pagemix_buf_info args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = any_fd();
  args.pad = values_.one_in(16) ? values_.wild32() : 0;
  note("buf_info", send(heap_.get(), PAGEMIX_IOC_BUF_INFO, args));
}

void Worker::buf_runs() {
  std::array<pagemix_run, 1100> runs;
  pagemix_buf_runs args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = any_fd();
  args.capacity = values_.mostly32(runs.size(), 8);
  // Behind a wild capacity the kernel must not write: point where it cannot.
  args.runs = args.capacity > runs.size() ? reinterpret_cast<std::uintptr_t>(kUnmapped)
                                          : reinterpret_cast<std::uintptr_t>(runs.data());
  if (values_.one_in(8))
    args.runs = reinterpret_cast<std::uintptr_t>(bad_pointer(runs.data(), sizeof(args)));
  args.flags = values_.one_in(16) ? values_.wild32() : 0;
  note("buf_runs", test::call(heap_.get(), PAGEMIX_IOC_BUF_RUNS, &args));
}

void Worker::buf_attachments() {
  pagemix_buf_attachments args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = any_fd();
  args.pad = values_.one_in(16) ? values_.wild32() : 0;
  note("buf_attachments", send(heap_.get(), PAGEMIX_IOC_BUF_ATTACHMENTS, args));
}

void Worker::target_info() {
  pagemix_target_info args{};
  args.version = PAGEMIX_UAPI_VERSION;
  note("target_info", send(target_fd(), PAGEMIX_IOC_TARGET_INFO, args));
}

void Worker::target_op() {
  pagemix_target_op args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.index = values_.mostly32(static_cast<std::uint32_t>(values_.below(16)), 4);
  note("target_op", send(target_fd(), PAGEMIX_IOC_TARGET_OP, args));
}

void Worker::target_ring() {
  static constexpr std::uint64_t kCapacities[] = {1, 255, 256, 257, 4096, PAGEMIX_MAX_SAMPLES};
  pagemix_target_ring args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.flags = values_.one_in(16) ? values_.wild32() : 0;
  args.capacity = values_.mostly(values_.pick(kCapacities), 4);
  note("target_ring", send(target_fd(), PAGEMIX_IOC_TARGET_RING, args));
}

void Worker::target_run() {
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.flags = values_.mostly32(values_.one_in(4) ? PAGEMIX_RUN_COLD : 0, 20);
  const std::string& op = values_.pick(shared_.ops);
  test::set_operation(args, op, any_fd());
  for (auto& param : args.params) param = values_.mostly(param, 30);
  if (values_.one_in(40)) args.op[values_.below(sizeof(args.op))] = 'x';
  if (values_.one_in(20)) args.fd = args.fd < 0 ? any_fd() : -1;
  args.direction = values_.mostly32(static_cast<std::uint32_t>(values_.below(3)), 20);
  args.repetitions = values_.mostly32(static_cast<std::uint32_t>(1 + values_.below(4)), 24);
  args.warmup = values_.one_in(3) ? values_.mostly32(2, 16) : 0;
  if (values_.one_in(30)) {  // until a signal
    args.flags = PAGEMIX_RUN_HOLD;
    args.repetitions = 1;
    args.warmup = 0;
  }

  // A held run, or one of a million repetitions, ends by the other thread's signal or by this.
  const itimerspec period{{0, 20000000}, {0, 20000000}};
  const itimerspec off{};
  timer_settime(watchdog_, 0, &period, nullptr);
  const int err = send(target_fd(), PAGEMIX_IOC_TARGET_RUN, args);
  timer_settime(watchdog_, 0, &off, nullptr);
  note(("run " + op).c_str(), err);
  if (err == ENODEV) reopen();
}

// Wrong sizes, directions, numbers and types, on either node or a dma-buf.
void Worker::any_number() {
  static constexpr unsigned kNumbers[] = {0, 1, 2, 3, 4, 5, 0x20, 0x21, 0x22, 0x23, 0x24, 0xff};
  const unsigned long request =
      values_.one_in(4) ? values_.bits()
                        : _IOC(static_cast<unsigned>(values_.below(4)), PAGEMIX_IOC_MAGIC,
                               values_.pick(kNumbers), values_.below(512));
  auto* room = scratch_.as<std::byte>();
  std::memset(room, 0, static_cast<std::size_t>(getpagesize()));
  const std::uint32_t version = PAGEMIX_UAPI_VERSION;
  std::memcpy(room, &version, sizeof(version));
  // The right numbers and sizes have calls of their own, whose results are kept.
  if (request == PAGEMIX_IOC_ALLOC || request == DMA_HEAP_IOCTL_ALLOC) return;
  const int nodes[] = {heap_.get(), target_fd(), buffer_fd()};
  note("any_number", test::call(values_.pick(nodes), request, room));
}

}  // namespace pagemix::fuzz
