// SPDX-License-Identifier: Apache-2.0
// use_stream: the device fills the buffer front to back by large transfers,
// with depth:<n> commands in flight. A pass goes through the buffer as often as
// it takes to keep the queue full most of the time.
#include "families/use/use.hpp"

namespace pagemix::bench {
namespace {

// Commands of a pass for each one in flight: start and end of a pass, when the
// queue is not full, are then an eighth of it.
constexpr std::uint64_t kCommandsPerSlot = 8;

// Buffers of a few MiB shall give enough commands for deep queues.
constexpr std::uint32_t kTransfer = 128 * 1024;

std::vector<std::uint32_t> depths_of(const Value& value) { return numbers(value, 1, 1024); }

class UseStream final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  bool needs_compare() const override { return false; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    require_namespace(drive, item.bytes());
    TransferLimits limits = drive.limits();
    limits.max_bytes = std::min(limits.max_bytes, kTransfer);
    const auto depth = static_cast<std::uint32_t>(item.number("depth"));
    std::vector<Access> accesses = sequential_order(item.bytes(), limits);
    const std::size_t once = accesses.size();
    while (accesses.size() < kCommandsPerSlot * depth)
      for (std::size_t i = 0; i < once; ++i) accesses.push_back(accesses[i]);

    const MappedBuffer buffer(drive, pooled);
    const auto pass = [&](std::uint32_t) {
      transfer(drive, accesses, Move::kToMemory, buffer.iova(), depth);
    };
    for (std::uint32_t i = 0; i < services_.profile.warmup; ++i) pass(i);
    Measurement result = measure_passes(item, block, {.run = pass});
    add_mapping_counters(result, drive, pooled, buffer.iova());
    add_access_counters(result, accesses.size(), total_bytes(accesses));
    return result;
  }
};

constexpr Key<depths_of> kDepths{"depths", "1 8 32 128", "use_stream: commands in flight, 1..1024"};

const RegisterFamilies kRegistered({
    {.name = "use_stream",
     .help = "an NVMe drive fills the buffer by large transfers",
     .group = Group::kDrive,
     .axes = {axis::bytes, axis::mix, axis::layout, axis::values("depth", kDepths), axis::backend},
     .parts = {"mix", "layout", "bytes", "depth", "backend"},
     .keys = {&kDepths},
     .make = make_family<UseStream>},
});

}  // namespace

}  // namespace pagemix::bench
