// SPDX-License-Identifier: Apache-2.0
// use_column: a frame is written in raster order, untimed, and read as a 90
// degree rotation reads it: 64x64-pixel tiles down columns. The device reads by
// Compare, so each pass also checks that it sees what was written.
#include "families/use/frame_keys.hpp"
#include "families/use/use.hpp"

namespace pagemix::bench {
namespace {

constexpr Key<frames_of> kFrames{"frames",
                                 "1920x1080-nv12 1920x1080-rgba 3840x2160-nv12 3840x2160-rgba",
                                 "use_column: <width>x<height>-nv12 or -rgba"};

class UseColumn final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  bool needs_compare() const override { return true; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    require_namespace(drive, item.bytes());
    const Frame frame = parse_frame(item.part("frame")).value();
    const std::uint32_t depth = kUseDepth;
    const std::vector<Access> raster = raster_order(frame, drive.limits());
    const std::vector<Access> column =
        column_order(frame, drive.limits(), kColumns.of(services_.profile));

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

std::vector<Parts> frames(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const Frame& frame : kFrames.of(profile)) found.push_back(frame_parts(frame));
  return found;
}

const RegisterFamilies kRegistered({
    {.name = "use_column",
     .help = "it reads a frame down columns of tiles, as a rotation does",
     .group = Group::kDrive,
     .axes = {frames, axis::mix, axis::layout, columns_axis, axis::backend},
     .parts = {"mix", "layout", "bytes", "frame", "columns", "backend"},
     .keys = {&kFrames, &kColumns},
     .make = make_family<UseColumn>},
});

}  // namespace

}  // namespace pagemix::bench
