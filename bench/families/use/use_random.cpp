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

std::vector<Size> windows_of(const Value& value) { return sizes(value); }
std::uint64_t accesses_of(const Value& value) { return number(value, 1, 1u << 24); }

constexpr Key<windows_of> kWindows{
    "windows",
    "16K 32K 64K 128K 192K 256K 384K 512K 640K 768K 896K 1M 1152K 1280K 1536K 1792K 2M "
    "3M 4M 6M 8M 12M 16M 24M 32M 48M 64M 96M 128M 192M 256M 384M 512M 640M 768M 896M 1G",
    "use_random: working sets, as bytes; those above a buffer are left out"};
constexpr Key<accesses_of> kAccesses{"accesses", "65536",
                                     "use_random: accesses of a pass at most, 1..16777216"};

class UseRandom final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  bool needs_compare() const override { return false; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    require_namespace(drive, item.bytes());
    const std::uint64_t page = services_.heap->info().page_size;
    const std::uint64_t window = item.number("window");
    const std::uint64_t pages = std::min(window / page, kAccesses.of(services_.profile));
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

std::vector<Parts> windows(const Profile& profile, const Case& item) {
  std::vector<Parts> found;
  for (const Size& window : kWindows.of(profile))
    if (window.bytes <= item.bytes()) found.push_back({{"window", std::to_string(window.bytes)}});
  return found;
}

const RegisterFamilies kRegistered({
    {.name = "use_random",
     .help = "it writes a block into random pages of a working set: IOTLB reach",
     .group = Group::kDrive,
     .axes = {axis::bytes, axis::mix, axis::layout, windows, axis::backend},
     .parts = {"mix", "layout", "bytes", "window", "backend"},
     .keys = {&kWindows, &kAccesses},
     .make = make_family<UseRandom>},
});

}  // namespace

}  // namespace pagemix::bench
