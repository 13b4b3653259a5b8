// SPDX-License-Identifier: Apache-2.0
// use_random: the device writes one block into each page of a working set
// (window:<bytes> of the buffer), in random order, one command at a time: the
// reach of the IOTLB. The whole buffer is mapped, so that its leaves do not
// depend on the window. One pass fills the IOTLB (more with warmup above 1);
// each measured pass visits the pages in another order.
#include <algorithm>

#include "families/use/use.hpp"

namespace pagemix::bench {
namespace {

class UseRandom final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  bool needs_compare() const override { return false; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    require_namespace(drive, item.bytes);
    const std::uint64_t page = services_.heap->info().page_size;
    const std::uint64_t window = item.number("window");
    const std::uint64_t pages = std::min(window / page, services_.profile.accesses);
    const auto order = [&](std::uint64_t number, std::uint64_t at_most) {
      return random_pages(window, page, drive.limits(), services_.profile.seed + number, at_most);
    };

    const MappedBuffer buffer(drive, pooled);
    const std::uint32_t fills = std::max(1u, services_.profile.warmup);
    for (std::uint32_t i = 0; i < fills; ++i)
      transfer(drive, order(i, 0), Move::kToMemory, buffer.iova(), kUseDepth);
    std::vector<Access> accesses;
    Measurement result = measure_passes(
        item, block,
        {.run =
             [&](std::uint32_t) { transfer(drive, accesses, Move::kToMemory, buffer.iova(), 1); },
         .prepare = [&](std::uint32_t number) { accesses = order(number, pages); }},
        fills);
    add_mapping_counters(result, drive, pooled, buffer.iova());
    add_access_counters(result, pages, total_bytes(accesses));
    return result;
  }
};

}  // namespace

std::unique_ptr<Family> make_use_random(const Services& services) {
  return std::make_unique<UseRandom>(services);
}

}  // namespace pagemix::bench
