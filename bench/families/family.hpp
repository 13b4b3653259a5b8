// SPDX-License-Identifier: Apache-2.0
// A benchmark family: how the cases of one name are measured.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "iommu/iommu_counters.hpp"
#include "iommu/leaves.hpp"
#include "machine/buffer_pool.hpp"
#include "machine/clock.hpp"
#include "machine/device_session.hpp"
#include "machine/drive.hpp"
#include "machine/environment.hpp"
#include "machine/heap_client.hpp"
#include "machine/marker.hpp"
#include "plan/family_table.hpp"
#include "result/recorder.hpp"

namespace pagemix::bench {

/// What families share during a run; all of it outlives them.
struct Services {
  const Profile& profile;
  const std::map<std::string, Mix>& mixes;
  const HeapClient* heap = nullptr;  ///< null: no selected case needs it
  BufferPool* pool = nullptr;        ///< null: as above
  DeviceSession* device = nullptr;   ///< null: as above
  const Marker& marker;
  KernelVersion kernel;
  ClockKind clock = ClockKind::kHardwareNs;
  DriveSession* drive = nullptr;            ///< null: no selected case needs it
  const IommuCounters* counters = nullptr;  ///< null: none on this machine
};

class Family {
 public:
  virtual ~Family() = default;

  /// Prepares once, before the first case: binds, opens, asks for limits.
  /// Returns why nothing of this family can be measured on this machine
  /// (reported as skipped), or nullopt. Throws when the run cannot go on.
  virtual std::optional<std::string> prepare() = 0;

  /// Why this case alone cannot be measured here; asked after prepare(). The
  /// text is reported once for each @c what.
  virtual std::optional<Skipped> unmeasurable(const Case&) const { return std::nullopt; }

  /// Measures one case: profile.iterations samples after the warm-up, markers
  /// around the measured loop. Throws with the case given up.
  virtual Measurement measure(const Case& item, std::uint32_t block) = 0;
};

/// chunks_order<k> and runs of one buffer.
void add_buffer_counters(Measurement& measurement, const pagemix_buf_info& info);

/// leaves_<bytes>, map_calls, unmap_calls and iova.
void add_leaf_counters(Measurement& measurement, std::span<const PageCall> map_calls,
                       std::span<const PageCall> unmap_calls, std::uint64_t iova);

/// tlbi_predicted and sync_predicted.
void add_smmu_counters(Measurement& measurement, const Invalidations& predicted);

/// What the kernel's version and the device's domain say about invalidations;
/// nullopt when the device is not behind an SMMUv3 that translates.
std::optional<SmmuRules> smmu_rules(const Services& services);

/// Whether the device is behind an Intel IOMMU, whose invalidations predict_vtd() tells.
bool behind_vtd(const Services& services);

/// How the device's IOMMU driver and this kernel's VFIO unmap.
UnmapRules unmap_rules(const vfio::pci::DeviceInfo& device, KernelVersion kernel,
                       std::uint64_t page_sizes);
UnmapRules unmap_rules(const Services& services, std::uint64_t page_sizes);

/// Requests of VFIO for a buffer, by the rules of the address space's backend,
/// and the invalidations of one unmap.
struct VfioPlan {
  std::vector<PageCall> map_calls;
  std::vector<PageCall> unmap_calls;
};
VfioPlan plan_vfio(std::span<const pagemix_run> runs, std::uint64_t iova,
                   const vfio::iommu::AddressSpace& space, UnmapRules rules);

/// Adds leaves, requests and invalidations of a buffer that VFIO maps at @p iova for
/// the device of the module's session.
void predict_vfio(Measurement& measurement, const Services& services,
                  std::span<const pagemix_run> runs, std::uint64_t iova,
                  const vfio::iommu::AddressSpace& space);

/// Why the backend that a case names cannot be used; nullopt when it can.
std::optional<Skipped> missing_backend(const Case& item);

}  // namespace pagemix::bench
