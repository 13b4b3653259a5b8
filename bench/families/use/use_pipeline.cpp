// SPDX-License-Identifier: Apache-2.0
// use_pipeline: the queue between a camera or decoder and a rotating consumer.
// For each of eight frames: the CPU gives the buffer to the device
// (DMA_BUF_IOCTL_SYNC end), the device writes it in raster order and reads it
// down columns of tiles, the CPU takes it back (sync start). map:kept maps the
// buffers once; map:each maps and unmaps one for each frame. A pass is one
// frame; part_<what> are its costs by kind, mean of the block.
#include <linux/dma-buf.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "families/use/frame_keys.hpp"
#include "families/use/use.hpp"

namespace pagemix::bench {
namespace {

namespace iommu = vfio::iommu;

// Buffers that the queue holds.
constexpr std::uint32_t kQueueFrames = 8;

Frame pipeline_frame_of(const Value& value) {
  const std::vector<Frame> given = frames_of(value);
  if (given.size() != 1) value.reject("more than one value", kFrameNames);
  return given.front();
}

std::vector<std::string> maps_of(const Value& value) {
  return words(value, std::vector<std::string>{"kept", "each"});
}

constexpr Key<pipeline_frame_of> kPipelineFrame{"pipeline_frame", "3840x2160-nv12",
                                                "use_pipeline: its frames, one value"};
constexpr Key<maps_of> kMaps{"maps", "kept each",
                             "use_pipeline: buffers mapped once (kept), for each frame (each)"};

// One buffer of the queue with an address of its own, mapped or not.
class Slot {
 public:
  Slot(Drive& drive, const PooledBuffer& pooled)
      : drive_(drive),
        pooled_(pooled),
        memory_(pooled.buffer.map_prefaulted(pooled.info.bytes)),
        iova_(drive.iovas().allocate(
            memory_.size(), iommu::leaf_alignment(drive.space().page_sizes(), memory_.size()))) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    // An address whose mapping stays must not be used again.
    if (mapped_ && unmap() != 0) return;
    drive_.iovas().free(iova_, memory_.size());
  }

  std::uint64_t iova() const { return iova_; }
  const PooledBuffer& pooled() const { return pooled_; }

  int map() noexcept {
    const int error = -drive_.space().try_map(memory_.bytes(), iova_, iommu::Access::read_write);
    mapped_ = error == 0;
    return error;
  }
  int unmap() noexcept {
    const int error = -drive_.space().try_unmap(iova_, memory_.size()).error;
    mapped_ = error != 0;
    return error;
  }
  // @p edge: DMA_BUF_SYNC_START when the CPU takes the buffer, _END when it gives it.
  int sync(std::uint64_t edge) const noexcept {
    dma_buf_sync request{.flags = edge | DMA_BUF_SYNC_RW};
    while (ioctl(pooled_.buffer.fd(), DMA_BUF_IOCTL_SYNC, &request) != 0)
      if (errno != EINTR && errno != EAGAIN) return errno;
    return 0;
  }

 private:
  Drive& drive_;
  const PooledBuffer& pooled_;
  vfio::MappedMemory memory_;
  std::uint64_t iova_;
  bool mapped_ = false;
};

enum Kind : std::size_t { kMap, kWrite, kRead, kUnmap, kSync, kKinds };

// Clock units spent by kind; each lap() takes the time since the one before.
class CostsByKind {
 public:
  void start() noexcept { last_ = user_now_ns(); }
  void lap(Kind kind) noexcept {
    const std::uint64_t now = user_now_ns();
    sums_[kind] += now - last_;
    last_ = now;
  }
  void reset() noexcept { sums_ = {}; }
  double mean(Kind kind, std::uint32_t passes) const {
    return static_cast<double>(sums_[kind]) / passes;
  }

 private:
  std::uint64_t last_ = 0;
  std::array<std::uint64_t, kKinds> sums_{};
};

void require(int error, const char* what, const Slot& slot) {
  if (error != 0) throw_errno(std::string(what) + " " + slot.pooled().buffer.name(), error);
}

class UsePipeline final : public UseFamily {
 public:
  using UseFamily::UseFamily;

 private:
  struct Queue {
    Drive& drive;
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<Access> raster;
    std::vector<Access> column;
    bool each = false;
    CostsByKind parts = {};
  };

  bool needs_compare() const override { return true; }

  Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) override {
    require_namespace(drive, item.bytes());
    const Frame frame = kPipelineFrame.of(services_.profile);
    Queue queue{.drive = drive,
                .slots = {},
                .raster = raster_order(frame, drive.limits()),
                .column = column_order(frame, drive.limits(), kColumns.of(services_.profile)),
                .each = item.part("map") == "each"};
    for (std::uint32_t i = 0; i < item.buffers(); ++i)
      queue.slots.push_back(std::make_unique<Slot>(drive, services_.pool->get(item, i)));
    if (!queue.each)
      for (const auto& slot : queue.slots) require(slot->map(), "map", *slot);

    // Warm: every buffer of the queue was used before.
    const std::uint32_t warmup = services_.profile.warmup * item.buffers();
    for (std::uint32_t i = 0; i < warmup; ++i) use_frame(queue, i);
    queue.parts.reset();
    Measurement result = measure_passes(
        item, block,
        {.run = [&](std::uint32_t number) { use_frame(queue, number); },
         .report = [&](Measurement& measured) { report_parts(measured, queue.parts); }},
        warmup);
    add_mapping_counters(result, drive, queue.slots.front()->pooled(), queue.slots.front()->iova());
    add_access_counters(result, queue.raster.size() + queue.column.size(),
                        total_bytes(queue.raster) + total_bytes(queue.column));
    return result;
  }

  void report_parts(Measurement& measured, const CostsByKind& parts) const {
    const auto mean = [&](Kind kind) { return parts.mean(kind, services_.profile.iterations); };
    measured.counters["part_map"] = mean(kMap);
    measured.counters["part_dma"] = mean(kWrite) + mean(kRead);
    measured.counters["part_unmap"] = mean(kUnmap);
    measured.counters["part_sync"] = mean(kSync);
    measured.counters["write_cost"] = mean(kWrite);
    measured.counters["read_cost"] = mean(kRead);
  }

  // Frame @p number of the stream. A buffer that is mapped for its turn is
  // given to the device after the map, so that a sync would find the mapping.
  void use_frame(Queue& queue, std::uint32_t number) const {
    Slot& slot = *queue.slots[number % queue.slots.size()];
    const std::uint32_t depth = kUseDepth;
    CostsByKind& parts = queue.parts;
    parts.start();
    if (queue.each) {
      require(slot.map(), "map", slot);
      parts.lap(kMap);
    }
    require(slot.sync(DMA_BUF_SYNC_END), "give to the device", slot);
    parts.lap(kSync);
    transfer(queue.drive, queue.raster, Move::kToMemory, slot.iova(), depth);
    parts.lap(kWrite);
    transfer(queue.drive, queue.column, Move::kFromMemory, slot.iova(), depth);
    parts.lap(kRead);
    require(slot.sync(DMA_BUF_SYNC_START), "take from the device", slot);
    parts.lap(kSync);
    if (queue.each) {
      require(slot.unmap(), "unmap", slot);
      parts.lap(kUnmap);
    }
  }
};

std::vector<Parts> frame_axis(const Profile& profile, const Case&) {
  Parts parts = frame_parts(kPipelineFrame.of(profile));
  parts.push_back({"frames", std::to_string(kQueueFrames)});
  return {parts};
}

const RegisterFamilies kRegistered({
    {.name = "use_pipeline",
     .help = "it writes and reads frames of a queue, mapped once or each",
     .group = Group::kDrive,
     .axes = {frame_axis, axis::mix, axis::layout, axis::values("map", kMaps), columns_axis,
              axis::backend},
     .parts = {"mix", "layout", "bytes", "frame", "frames", "map", "columns", "backend"},
     .keys = {&kPipelineFrame, &kMaps, &kColumns},
     .make = make_family<UsePipeline>},
});

}  // namespace

}  // namespace pagemix::bench
