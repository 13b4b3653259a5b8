// SPDX-License-Identifier: Apache-2.0
// use_column: a frame is written in raster order, untimed, and read as a 90
// degree rotation reads it: 64x64-pixel tiles down columns. The device reads by
// Compare, so each pass also checks that it sees what was written.
#include <algorithm>

#include "families/use/use.hpp"

namespace pagemix::bench {
namespace {

class UseColumn final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  bool needs_compare() const override { return true; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    require_namespace(drive, item.bytes);
    const Frame& frame =
        *std::ranges::find(services_.profile.frames, item.part("frame"), &Frame::name);
    const std::uint32_t depth = kUseDepth;
    const std::vector<Access> raster = raster_order(frame, drive.limits());
    const std::vector<Access> column =
        column_order(frame, drive.limits(), services_.profile.columns);

    const MappedBuffer buffer(drive, pooled);
    transfer(drive, raster, Move::kToMemory, buffer.iova(), depth);
    const auto pass = [&](std::uint32_t) {
      transfer(drive, column, Move::kFromMemory, buffer.iova(), depth);
    };
    for (std::uint32_t i = 0; i < services_.profile.warmup; ++i) pass(i);
    Measurement result = measure_passes(item, block, {.run = pass});
    add_mapping_counters(result, drive, pooled, buffer.iova());
    add_access_counters(result, column.size(), total_bytes(column));
    return result;
  }
};

}  // namespace

std::unique_ptr<Family> make_use_column(const Services& services) {
  return std::make_unique<UseColumn>(services);
}

}  // namespace pagemix::bench
