// SPDX-License-Identifier: Apache-2.0
// What a profile measures: its cases, their names and the order they run in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/profile.hpp"

namespace pagemix::bench {

/// What a case needs besides the CPU: nothing shared, a buffer of the pool
/// only, a buffer and the device bound to the module, bound to vfio-pci, or a
/// drive whose driver runs in this program.
enum class Group { kNone, kBuffer, kModule, kVfio, kDrive };

/// What tells a case from others of its family; "/window:65536" in its name.
struct Part {
  std::string key;
  std::string value;
  std::string text = value;  ///< the value in the name; "": the name is without it

  bool operator==(const Part&) const = default;
};
using Parts = std::vector<Part>;

struct Case {
  std::string family;
  Parts parts = {};  ///< in the order of the name

  /// "map_sgtable/mix:order4/layout:scattered/bytes:10485760/state:cold"
  std::string name() const;
  /// Value of a part; "" when the case has none of that key.
  std::string part(const std::string& key) const;
  /// The same as a number; 0 without.
  std::uint64_t number(const std::string& key) const;

  std::string mix() const { return part("mix"); }
  std::string layout() const { return part("layout"); }
  /// Of one buffer.
  std::uint64_t bytes() const { return number("bytes"); }
  /// Maps at fresh addresses, or from a fresh pool.
  bool cold() const { return part("state") == "cold"; }
  /// strict, lazy, identity; "": the machine's own, or none
  std::string domain() const { return part("domain"); }
  /// VFIO's backend; "": the first that the kernel offers, or none
  std::string backend() const { return part("backend"); }
  /// Threads that map at once: 1, or as many as the part says.
  std::uint32_t threads() const;
  /// Buffers of this mix, layout and size that it works on: 1, its frames, or one a thread.
  std::uint32_t buffers() const;

  /// Takes buffers from the heap of pagemix.ko.
  bool needs_module_heap() const;
  Group group() const;
};

/// Name of the mix where another heap decides it.
inline constexpr const char* kOwnMix = "own";

/// All cases of a profile, in its order of keys and values.
std::vector<Case> expand(const Profile& profile);

/// One turn of the interleaving: @p count case indices for block @p block.
/// Cases are shuffled inside their group, and there inside their domain mode or
/// backend; these alternate their order from block to block, so that the device
/// is bound anew only once a block and mode.
std::vector<std::size_t> block_order(const std::vector<Case>& cases, std::uint64_t seed,
                                     std::uint32_t block);

}  // namespace pagemix::bench
