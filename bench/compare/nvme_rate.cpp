// SPDX-License-Identifier: Apache-2.0
// Random reads per second of this driver, to be set beside fio's:
//   nvme_rate BDF BLOCK_BYTES DEPTH SECONDS
// prints one number. DEPTH commands are with the device; while it works the next
// DEPTH are prepared, and given to it with one doorbell write when all are complete.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "pagemix/vfio/vfio.hpp"

namespace {

using namespace pagemix::vfio;

std::uint64_t number(const char* text, const char* what, std::uint64_t min, std::uint64_t max) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || value < min || value > max)
    throw Error(EINVAL, std::string("read ") + what + " '" + text + "'",
                "allowed: " + std::to_string(min) + ".." + std::to_string(max));
  return value;
}

/// Random places, the same in every run: xorshift64.
class Places {
 public:
  explicit Places(std::uint64_t count) : count_(count) {}
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % count_;
  }

 private:
  std::uint64_t count_;
  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
};

double rate(const pci::Bdf& bdf, std::uint64_t bytes, std::uint32_t depth,
            std::chrono::milliseconds duration) {
  const pci::Binding binding(bdf, "vfio-pci");
  const pci::DeviceInfo info = pci::read_device(bdf);
  iommu::Type1Container space(info);
  iommu::IovaAllocator iovas(space.iova_ranges(), space.granule());
  pci::Device device(space, info);
  const MappedMemory memory(-1, 2 * depth * std::max<std::uint64_t>(bytes, 4096), 0,
                            PROT_READ | PROT_WRITE, "buffers");
  const iommu::Mapping mapping(space, iovas, memory.bytes());
  nvme::Controller controller(space, iovas, device);
  const nvme::Namespace& ns = controller.find_namespace();
  nvme::IoQueue& queue =
      controller.make_queue(ns, {.depth = 2 * depth, .max_transfer_bytes = bytes});
  const auto blocks = static_cast<std::uint32_t>(bytes / ns.block_bytes);
  Places places(ns.blocks / blocks);

  // Two halves of the buffers take turns.
  std::uint64_t slot = 0;
  const auto prepare = [&] {
    for (std::uint32_t i = 0; i < depth; ++i, slot = (slot + 1) % (2 * depth)) {
      const nvme::Refusal refusal =
          queue.prepare_read(places.next() * blocks, blocks, mapping.iova() + slot * bytes);
      if (refusal != nvme::Refusal::none)
        throw Error(EINVAL, "prepare a read", nvme::to_string(refusal));
    }
  };
  nvme::Completion completions[64];
  const auto reap = [&] {
    // Bounded: wait() looks after a device that does not go on.
    for (unsigned i = 0; queue.ready() < depth && i < 1000000; ++i) {
    }
    for (std::uint32_t left = depth; left != 0;) {
      const unsigned count = controller.wait(queue, std::span(completions).first(left));
      for (unsigned i = 0; i < count; ++i)
        if (!completions[i].status.ok()) throw Error(EIO, "read", completions[i].status.text());
      left -= count;
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  auto now = begin;
  std::uint64_t done = 0;
  prepare();
  while (now - begin < duration) {
    queue.ring();
    prepare();
    reap();
    done += depth;
    now = std::chrono::steady_clock::now();
  }
  controller.drain(queue);
  return static_cast<double>(done) / std::chrono::duration<double>(now - begin).count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::fprintf(stderr, "usage: nvme_rate BDF BLOCK_BYTES DEPTH SECONDS\n");
    return 2;
  }
  const double reads = rate(pci::Bdf::parse(argv[1]), number(argv[2], "block size", 512, 1 << 20),
                            static_cast<std::uint32_t>(number(argv[3], "depth", 1, 64)),
                            std::chrono::seconds(number(argv[4], "seconds", 1, 3600)));
  std::printf("%.0f\n", reads);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "nvme_rate: %s\n", error.what());
  return 1;
}
