// SPDX-License-Identifier: Apache-2.0
// What the families that let a device use a buffer have in common: a drive, a
// mapped buffer, passes that are filled, timed and counted.
#pragma once

#include <functional>

#include "families/family.hpp"
#include "pagemix/vfio/iommu/mapping.hpp"

namespace pagemix::bench {

/// A pool buffer mapped for the drive as a whole, until destruction.
class MappedBuffer {
 public:
  MappedBuffer(Drive& drive, const PooledBuffer& pooled)
      : memory_(pooled.buffer.map_prefaulted(pooled.info.bytes)),
        mapping_(drive.space(), drive.iovas(), memory_.bytes()) {}

  std::uint64_t iova() const { return mapping_.iova(); }

 private:
  vfio::MappedMemory memory_;
  vfio::iommu::Mapping mapping_;
};

/// A workload that is repeated.
struct Passes {
  /// Runs one pass: number 0, 1, ... so that each can differ. Timed.
  std::function<void(std::uint32_t number)> run;
  /// Readies the next pass; not timed, no DMA. May be empty.
  std::function<void(std::uint32_t number)> prepare = {};
  /// Adds counters once all timed passes are done. May be empty.
  std::function<void(Measurement&)> report = {};
};

/// Base of the use_* families.
class UseFamily : public Family {
 public:
  explicit UseFamily(const Services& services) : services_(services) {}

  /// Opens the drive. Not measurable without it, or without Compare where
  /// needs_compare().
  std::optional<std::string> prepare() override;
  std::optional<Skipped> unmeasurable(const Case& item) const override {
    return missing_backend(item);
  }
  /// measure_drive(); a drive that failed is opened anew by the next case.
  Measurement measure(const Case& item, std::uint32_t block) final;

 protected:
  virtual bool needs_compare() const = 0;
  virtual Measurement measure_drive(Drive& drive, const Case& item, std::uint32_t block) = 0;

  /// profile.iterations passes between the markers, each timed; then, outside
  /// of them, one pass for each hardware counter of the IOMMU. Passes are
  /// numbered from @p first on.
  Measurement measure_passes(const Case& item, std::uint32_t block, const Passes& passes,
                             std::uint32_t first = 0) const;

  /// Drive::transfer() of the whole order; throws GivenUp when the user gave up.
  void transfer(Drive& drive, std::span<const Access> accesses, Move move, std::uint64_t iova,
                std::uint32_t depth) const;

  /// RunError unless every block of @p bytes has its place in the namespace.
  void require_namespace(const Drive& drive, std::uint64_t bytes) const;

  /// Chunks, runs, leaves and IOVA of a mapped buffer.
  void add_mapping_counters(Measurement& result, Drive& drive, const PooledBuffer& pooled,
                            std::uint64_t iova) const;

  /// accesses and dma_bytes of one pass, and what follows from the median:
  /// access_cost in clock units and, where the clock is time, bytes_per_second.
  void add_access_counters(Measurement& result, std::uint64_t accesses, std::uint64_t bytes) const;

  Services services_;
};

}  // namespace pagemix::bench
