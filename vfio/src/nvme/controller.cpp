// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/nvme/controller.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <exception>

#include "admin_queue.hpp"
#include "dma_memory.hpp"
#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint32_t depth_limit = 4096;
constexpr std::uint32_t queue_limit = 64;
constexpr std::uint64_t default_transfer_bytes = std::uint64_t{2} << 20;

}  // namespace

/// The admin rings and a buffer for Identify, in one piece of memory.
struct Controller::Admin {
  Admin(iommu::AddressSpace& space, iommu::IovaAllocator& iovas, std::uint64_t page_bytes,
        Registers& registers)
      : page(page_bytes),
        memory(space, iovas, 3 * page_bytes, page_bytes),
        queue(reinterpret_cast<SubmissionEntry*>(memory.bytes().data()),
              reinterpret_cast<const CompletionEntry*>(memory.bytes().data() + page_bytes),
              registers.submission_doorbell(0), registers.completion_doorbell(0)) {}

  std::uint64_t buffer_iova() const { return memory.iova() + 2 * page; }
  std::span<const std::byte> buffer() const {
    return memory.bytes().subspan(2 * page, identify_bytes);
  }

  std::uint64_t page;
  DmaMemory memory;
  AdminQueue queue;
};

/// A queue and its memory, which outlives it.
struct Controller::QueuePair {
  QueuePair(DmaMemory&& queue_memory, IoQueue::Parts parts)
      : memory(std::move(queue_memory)), queue(with_memory(parts, memory)) {}

  static IoQueue::Parts with_memory(IoQueue::Parts parts, const DmaMemory& memory) {
    parts.memory = memory.bytes();
    parts.iova = memory.iova();
    return parts;
  }

  DmaMemory memory;
  IoQueue queue;
};

Controller::Controller(iommu::AddressSpace& space, iommu::IovaAllocator& iovas, pci::Device& device,
                       const ControllerOptions& options)
    : space_(space),
      iovas_(iovas),
      device_(device),
      options_(options),
      name_("nvme " + device.info().bdf.text()),
      registers_(map_registers(device), name_) {
  if (options.max_queues < 1 || options.max_queues > queue_limit)
    throw Error(EINVAL, "start " + name_,
                std::to_string(options.max_queues) + " queues, allowed: 1..64");
  try {
    start();
    identify();
  } catch (...) {
    stop();
    throw;
  }
}

pci::Bar Controller::map_registers(pci::Device& device) {
  if (!is_nvme(device.info()))
    throw Error(ENODEV, "start nvme " + device.info().bdf.text(),
                "class " + hex(device.info().class_code) + " is no NVMe controller, expected " +
                    hex(class_code));
  device.enable_bus_master();  // and memory space, without which the BAR reads ones
  return device.map_bar(0);
}

Controller::~Controller() {
  if (running_) {
    try {
      registers_.shut_down(options_.command_timeout);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "pagemix: %s\n", error.what());
    }
  }
  stop();
}

void Controller::stop() noexcept {
  running_ = false;
  try {
    if (registers_.status() != Registers::all_ones) registers_.disable();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
  // Even a controller that does not stop cannot reach memory any more.
  try {
    device_.disable_bus_master();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
  for (const auto& pair : queues_) pair->queue.abandon();
}

void Controller::start() {
  const Capabilities& caps = registers_.capabilities();
  page_bytes_ = caps.min_page_bytes;
  registers_.disable();
  admin_ = std::make_unique<Admin>(space_, iovas_, page_bytes_, registers_);
  registers_.enable(page_bytes_, AdminQueue::entries, admin_->memory.iova(),
                    admin_->memory.iova() + page_bytes_);
  running_ = true;
}

std::uint32_t Controller::execute(const AdminCommand& command) {
  const std::string operation = std::string(command.name()) + " of " + name_;
  const auto end = std::chrono::steady_clock::now() + options_.command_timeout;
  const auto result = admin_->queue.execute(command, [&] { return trouble(end) != Trouble::none; });
  if (!result) fail(operation, trouble(end), {});
  if (!result->status.ok()) throw Error(EIO, operation, result->status.text());
  return result->value;
}

void Controller::identify() {
  execute(AdminCommand::identify_controller(admin_->buffer_iova()));
  identity_ = parse_controller(admin_->buffer());
  max_transfer_bytes_ = identity_.mdts == 0 || identity_.mdts > 40
                            ? ~std::uint64_t{0}
                            : registers_.capabilities().min_page_bytes << identity_.mdts;

  const std::uint32_t given = execute(AdminCommand::set_queue_count(options_.max_queues));
  // Zero-based: completion queues in the upper half, submission queues below.
  max_queues_ = std::min({options_.max_queues, (given & 0xffff) + 1, (given >> 16) + 1});

  execute(AdminCommand::identify_active_namespaces(0, admin_->buffer_iova()));
  for (const std::uint32_t nsid : parse_namespace_list(admin_->buffer())) {
    execute(AdminCommand::identify_namespace(nsid, admin_->buffer_iova()));
    namespaces_.push_back(parse_namespace(nsid, admin_->buffer()));
  }
}

std::uint32_t Controller::max_depth() const noexcept {
  // A ring holds one command less than entries.
  return std::min(depth_limit, capabilities().max_queue_entries - 1);
}

const Namespace& Controller::find_namespace(std::uint32_t nsid) const {
  std::string known;
  for (const Namespace& ns : namespaces_) {
    if (nsid == 0 ? ns.unusable().empty() : ns.nsid == nsid) return ns;
    known += (known.empty() ? "" : ", ") + std::to_string(ns.nsid);
    if (nsid == 0) known += " (" + ns.unusable() + ")";
  }
  throw Error(ENOENT,
              nsid == 0 ? "find a usable namespace of " + name_
                        : "find namespace " + std::to_string(nsid) + " of " + name_,
              known.empty() ? "the controller has no active namespace" : "it has: " + known);
}

void Controller::require_running(const std::string& operation) const {
  if (!running_)
    throw Error(EIO, operation + " of " + name_, "the controller was stopped after an error");
}

std::uint64_t Controller::checked_transfer(const Namespace& ns, const QueueOptions& options,
                                           const std::string& operation) const {
  if (const std::string reason = ns.unusable(); !reason.empty())
    throw Error(ENOTSUP, operation,
                "namespace " + std::to_string(ns.nsid) + " cannot be read here: " + reason);
  if (options.depth < 1 || options.depth > max_depth())
    throw Error(
        EINVAL, operation,
        "depth " + std::to_string(options.depth) + ", allowed: 1.." + std::to_string(max_depth()));
  const std::uint64_t longest =
      std::min(max_transfer_bytes_, std::uint64_t{65536} * ns.block_bytes);  // NLB
  if (options.max_transfer_bytes == 0) return std::min(longest, default_transfer_bytes);
  if (options.max_transfer_bytes < ns.block_bytes || options.max_transfer_bytes > longest)
    throw Error(EINVAL, operation,
                "transfers of " + std::to_string(options.max_transfer_bytes) + " bytes, allowed: " +
                    std::to_string(ns.block_bytes) + ".." + std::to_string(longest));
  return options.max_transfer_bytes;
}

IoQueue& Controller::make_queue(const Namespace& ns, const QueueOptions& options) {
  const std::string operation = "make an I/O queue of " + name_;
  require_running("make an I/O queue");
  const std::uint64_t transfer = checked_transfer(ns, options, operation);
  std::uint16_t id = 1;
  while (std::any_of(queues_.begin(), queues_.end(),
                     [&](const auto& pair) { return pair->queue.id() == id; }))
    ++id;
  if (id > max_queues_)
    throw Error(ENOSPC, operation,
                "all " + std::to_string(max_queues_) + " queue pairs of the controller are made");

  const PrpGeometry geometry{page_bytes_};
  const IoQueue::Layout layout = IoQueue::layout(geometry, options.depth, transfer);
  auto pair = std::make_unique<QueuePair>(
      DmaMemory(space_, iovas_, layout.bytes, page_bytes_),
      IoQueue::Parts{.id = id,
                     .ns = ns,
                     .geometry = geometry,
                     .depth = options.depth,
                     .max_transfer_bytes = transfer,
                     .memory = {},
                     .iova = 0,
                     .submission_doorbell = registers_.submission_doorbell(id),
                     .completion_doorbell = registers_.completion_doorbell(id)});
  const std::uint64_t iova = pair->memory.iova();
  execute(AdminCommand::create_completion_queue(id, layout.entries, iova + layout.completions));
  try {
    execute(AdminCommand::create_submission_queue(id, layout.entries, iova, id));
  } catch (const Error&) {
    // The controller may write to its completion queue: memory stays until it is gone.
    if (running_) execute(AdminCommand::delete_completion_queue(id));
    throw;
  }
  queues_.push_back(std::move(pair));
  return queues_.back()->queue;
}

void Controller::remove_queue(IoQueue& queue) {
  const std::string operation = "remove I/O queue " + std::to_string(queue.id()) + " of " + name_;
  if (queue.outstanding() != 0)
    throw Error(EBUSY, operation, std::to_string(queue.outstanding()) + " commands outstanding");
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [&](const auto& pair) { return &pair->queue == &queue; });
  if (found == queues_.end()) throw Error(EINVAL, operation, "not a queue of this controller");
  if (running_) {
    execute(AdminCommand::delete_submission_queue(queue.id()));
    execute(AdminCommand::delete_completion_queue(queue.id()));
  }
  queues_.erase(found);
}

}  // namespace pagemix::vfio::nvme
