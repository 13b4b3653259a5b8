// SPDX-License-Identifier: Apache-2.0
// order_speed: how fast blocks of one order come in a state of memory, each a
// buffer of its own, held to the end. A sample is the cost of one allocation, as
// user space sees it and zeroing included; the kernel may reclaim and compact for
// it. The first that fails is the last, and a sample too.
#include "base/error.hpp"
#include "families/family.hpp"
#include "families/memory_state.hpp"
#include "machine/clock.hpp"
#include "pressure/anonymous.hpp"
#include "pressure/series.hpp"

namespace pagemix::bench {
namespace {

std::vector<std::uint32_t> orders_of(const Value& value) {
  return numbers(value, 0, PAGEMIX_ORDERS - 1);
}

class OrderSpeed final : public Family {
 public:
  explicit OrderSpeed(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    raise_open_files();
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override;

 private:
  Services services_;
};

Measurement OrderSpeed::measure(const Case& item, std::uint32_t block) {
  const auto order = static_cast<std::uint32_t>(item.number("order"));
  if (order > services_.heap->info().max_order)
    throw RunError("order " + std::to_string(order) + " is above the kernel's " +
                   std::to_string(services_.heap->info().max_order));
  const std::uint64_t chunk = std::uint64_t{services_.heap->info().page_size} << order;
  const std::uint64_t count = std::max<std::uint64_t>(item.bytes() / chunk, 1);
  // "mid" and not "low": a failure is a result here, not worth a warning of the kernel.
  SeriesHeap heap(*services_.heap, {{order, PAGEMIX_GFP_MID}}, chunk);
  MemoryState state(state_spec(services_, item, block), [](const std::string&) {});
  std::vector<vfio::UniqueFd> buffers;
  buffers.reserve(count);
  Measurement result;
  const VmStat before = read_vmstat();
  int error = 0;
  double sum = 0;
  while (buffers.size() < count && error == 0) {
    int fd = -1;
    const std::uint64_t begin = user_now_ns();
    error = heap.try_allocate(fd);
    const std::uint64_t end = user_now_ns();
    if (error == 0) buffers.emplace_back(fd);
    result.samples.push_back(static_cast<double>(end - begin));
    sum += result.samples.back();
  }
  const VmStat after = read_vmstat();
  if (error != 0 && error != ENOMEM) throw_measure_error("allocate for " + item.name(), error);
  state.check();
  result.counters = vmstat_delta(before, after);
  result.counters["blocks_wanted"] = static_cast<double>(count);
  result.counters["blocks"] = static_cast<double>(buffers.size());
  result.counters["blocks_per_1e9"] = static_cast<double>(buffers.size()) * 1e9 / sum;
  return result;
}

constexpr Key<orders_of> kOrders{"orders", "4 8", "order_speed: orders, 0..15"};

const RegisterFamilies kRegistered({
    {.name = "order_speed",
     .help = "blocks of one order in a state of memory",
     .axes = {axis::bytes, memory_axis, axis::values("order", kOrders)},
     .parts = {"order", "memory", "bytes"},
     .keys = with_memory_keys({&kOrders}),
     .make = make_family<OrderSpeed>,
     .needs_heap = true},
});

}  // namespace

}  // namespace pagemix::bench
