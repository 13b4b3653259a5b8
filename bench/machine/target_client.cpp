// SPDX-License-Identifier: Apache-2.0
#include "machine/target_client.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {
namespace {

vfio::UniqueFd open_node(const std::string& node) {
  using namespace std::chrono_literals;
  // devtmpfs makes the node a moment after the driver has bound.
  for (const auto deadline = std::chrono::steady_clock::now() + 2s;;) {
    vfio::UniqueFd fd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
    if (fd) return fd;
    if (errno != ENOENT || std::chrono::steady_clock::now() > deadline) throw_errno("open " + node);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

TargetClient::TargetClient(const std::string& device, std::uint32_t capacity)
    : name_("/dev/pagemix/" + device), fd_(open_node(name_)) {
  info_.version = PAGEMIX_UAPI_VERSION;
  if (ioctl(fd_.get(), PAGEMIX_IOC_TARGET_INFO, &info_) != 0)
    throw_errno("PAGEMIX_IOC_TARGET_INFO of " + name_);
  for (__u32 i = 0; i < info_.nr_ops; ++i) {
    pagemix_target_op op{};
    op.version = PAGEMIX_UAPI_VERSION;
    op.index = i;
    if (ioctl(fd_.get(), PAGEMIX_IOC_TARGET_OP, &op) != 0)
      throw_errno("PAGEMIX_IOC_TARGET_OP of " + name_);
    operations_.emplace_back(op.name);
  }
  pagemix_target_ring ring{};
  ring.version = PAGEMIX_UAPI_VERSION;
  ring.capacity = capacity;
  if (ioctl(fd_.get(), PAGEMIX_IOC_TARGET_RING, &ring) != 0)
    throw_errno("PAGEMIX_IOC_TARGET_RING of " + name_ + " for " + std::to_string(capacity) +
                " samples");
  ring_ = vfio::MappedMemory(fd_.get(), ring.bytes, 0, PROT_READ, "sample ring of " + name_);
}

bool TargetClient::offers(const std::string& operation) const {
  return std::ranges::find(operations_, operation) != operations_.end();
}

pagemix_target_run TargetClient::request(const Run& run) {
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.flags = run.flags;
  std::strncpy(args.op, run.operation, sizeof(args.op) - 1);
  args.fd = run.buffer_fd;
  args.direction = run.direction;
  args.repetitions = run.repetitions;
  std::ranges::copy(run.params, args.params);
  return args;
}

int TargetClient::try_run(pagemix_target_run& request) const noexcept {
  return ioctl(fd_.get(), PAGEMIX_IOC_TARGET_RUN, &request) == 0 ? 0 : errno;
}

std::span<const pagemix_sample> TargetClient::raw_samples(std::uint64_t count) const {
  return {reinterpret_cast<const pagemix_sample*>(ring_.data()),
          std::min<std::uint64_t>(count, ring_.size() / sizeof(pagemix_sample))};
}

std::vector<double> TargetClient::samples(std::uint64_t count) const {
  const std::span<const pagemix_sample> ring = raw_samples(count);
  std::vector<double> units;
  units.reserve(ring.size());
  for (const pagemix_sample& sample : ring)
    units.push_back(ticks_to_units(sample.end - sample.begin, info_.counter_hz));
  return units;
}

}  // namespace pagemix::bench
