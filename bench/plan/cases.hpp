// SPDX-License-Identifier: Apache-2.0
// What a profile measures: its cases, their names and the order they run in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/profile.hpp"

namespace pagemix::bench {

/// What a case needs besides the CPU: nothing shared, a buffer of the pool
/// only, a buffer and the device bound to the module, bound to vfio-pci, or a
/// drive whose driver runs in this program.
enum class Group { kNone, kBuffer, kModule, kVfio, kDrive };

/// A further part of a benchmark's name: "window:65536".
struct Part {
  std::string key;
  std::string value;
};

struct Case {
  std::string family;
  std::string mix;               ///< "" for sample_cost
  std::string layout;            ///< "" for sample_cost
  std::uint64_t bytes = 0;       ///< of one buffer; 0 for sample_cost
  bool cold = false;             ///< maps at fresh addresses, or from a fresh pool
  std::string timer;             ///< only sample_cost: kernel, user
  std::vector<Part> parts = {};  ///< what else tells cases of a family apart

  /// "map_sgtable/mix:order4/layout:scattered/bytes:10485760/state:cold"
  std::string name() const;
  /// Made by memory state and heap, not from a buffer of the pool.
  bool under_pressure() const { return family == "alloc_series" || family == "order_speed"; }
  /// Allocates memory for a device: coherent, dma_pool.
  bool device_memory() const { return family == "coherent" || family == "dma_pool"; }
  /// Takes buffers from the heap of pagemix.ko.
  bool needs_module_heap() const;
  Group group() const;
  /// strict, lazy, identity; "": the machine's own, or none
  std::string domain() const { return part("domain"); }
  /// VFIO's backend; "": the first that the kernel offers, or none
  std::string backend() const { return part("backend"); }
  /// Value of a part; "" when the case has none of that key.
  std::string part(const std::string& key) const;
  /// The same as a number; 0 without.
  std::uint64_t number(const std::string& key) const;
  /// Threads that map at once: 1, or as many as the part says.
  std::uint32_t threads() const;
  /// Buffers of this mix, layout and size that it works on: 1, its frames, or one a thread.
  std::uint32_t buffers() const;
};

/// Whether a family maps by the DMA API for the device bound to the module, so
/// that the mode of the device's domain decides what it costs.
bool has_domain(std::string_view family);

/// Whether a family is an operation of the module on one buffer.
bool is_buffer_operation(std::string_view family);

/// Whether several threads can do it at once on one device.
bool has_threads(std::string_view family);

/// Name of the mix where the heap or the family decides it.
inline constexpr const char* kOwnMix = "own";

/// Buffers that the queue of use_pipeline holds.
inline constexpr std::uint32_t kPipelineFrames = 8;

/// All cases of a profile, in its order of keys and values.
std::vector<Case> expand(const Profile& profile);

/// One turn of the interleaving: @p count case indices for block @p block.
/// Cases are shuffled inside their group, and there inside their domain mode or
/// backend; these alternate their order from block to block, so that the device
/// is bound anew only once a block and mode.
std::vector<std::size_t> block_order(const std::vector<Case>& cases, std::uint64_t seed,
                                     std::uint32_t block);

}  // namespace pagemix::bench
