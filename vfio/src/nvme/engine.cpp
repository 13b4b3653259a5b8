// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/engine.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::nvme {
namespace {

IoQueue& make_queue(Controller& controller, const Namespace& ns) {
  if (!controller.identity().compare)
    throw Error(ENOTSUP, "use " + controller.name() + " as DMA engine",
                "it has no Compare command, without which it does not read from memory");
  return controller.make_queue(ns, {.depth = 1, .max_transfer_bytes = 0});
}

}  // namespace

Engine::Engine(Controller& controller, const Namespace& ns)
    : controller_(controller), queue_(make_queue(controller, ns)) {}

Engine::~Engine() {
  try {
    if (queue_.outstanding() != 0) wait();
    controller_.remove_queue(queue_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
}

std::uint64_t Engine::max_transfer_bytes() const noexcept {
  return std::min(queue_.max_transfer_bytes(), queue_.ns().bytes());
}

void Engine::start(std::uint64_t iova, std::uint64_t bytes, bool compare) {
  const std::string operation = std::string(compare ? "read " : "write ") + std::to_string(bytes) +
                                " bytes at " + hex(iova) + " by " + name();
  const std::uint64_t block = alignment();
  if (bytes == 0 || bytes > max_transfer_bytes() || bytes % block != 0)
    throw Error(EINVAL, operation,
                "allowed: multiples of " + std::to_string(block) + " up to " +
                    std::to_string(max_transfer_bytes()) + " bytes");
  const auto blocks = static_cast<std::uint32_t>(bytes / block);
  const Refusal refusal =
      compare ? queue_.prepare_compare(0, blocks, iova) : queue_.prepare_read(0, blocks, iova);
  if (refusal == Refusal::full) throw Error(EBUSY, operation, "a transfer is in flight");
  if (refusal != Refusal::none) throw Error(ERANGE, operation, to_string(refusal));
  queue_.ring();
}

void Engine::start_read(std::uint64_t iova, std::uint64_t bytes) { start(iova, bytes, true); }

void Engine::start_write(std::uint64_t iova, std::uint64_t bytes) { start(iova, bytes, false); }

void Engine::wait() {
  if (queue_.outstanding() == 0) return;
  Completion completion;
  controller_.wait(queue_, {&completion, 1});
  equal_ = !completion.status.compare_failed();
  controller_.check_faults();
  if (!completion.status.ok() && equal_)
    throw Error(EIO, "transfer by " + name(), completion.status.text());
}

}  // namespace pagemix::vfio::nvme
