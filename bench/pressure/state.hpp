// SPDX-License-Identifier: Apache-2.0
// States of memory, made on purpose (docs/running.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "machine/setting.hpp"
#include "pressure/helper.hpp"
#include "pressure/memory_info.hpp"
#include "pressure/page_cache.hpp"

namespace pagemix::bench {

/// fresh, low, fragmented, pinned, aged
std::span<const std::string> memory_state_names();

struct StateSpec {
  std::string state;  ///< one of memory_state_names()
  std::uint64_t seed = 1;
  std::string heap{};                    ///< node that takes blocks that are left over
  std::uint64_t block_bytes = 64 << 10;  ///< what fragmented and pinned leave no free block of
  double unusable = 1;                   ///< part of the free memory in smaller blocks, for them
  std::chrono::seconds limit{300};       ///< of making it
  std::string cache_source{};            ///< "" finds one (find_cache_source())
};

/// What a state must look like, from the kernel's own numbers.
struct Verdict {
  bool reached = false;
  std::string text;  ///< what was measured, and what was wanted when not reached
};

/// Judges @p now; @p before is memory just before the state was made.
Verdict judge(const StateSpec& spec, const MemorySnapshot& before, const MemorySnapshot& now);

/// A state of memory. Its end undoes it: what it holds is free afterwards.
class MemoryState {
 public:
  using Say = std::function<void(const std::string&)>;

  /// Makes it and verifies it. RunError "state <name>: ..." when it cannot be
  /// made or was not reached; memory is then as before. @p say gets progress.
  MemoryState(const StateSpec& spec, const Say& say);
  ~MemoryState();
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  /// Measured right after it was made.
  const MemorySnapshot& reached() const { return reached_; }
  const Verdict& verdict() const { return verdict_; }
  /// RunError when the process that holds it is gone.
  void check();
  /// 0 for fresh, which needs none.
  pid_t helper_pid() const { return helper_ ? helper_->pid() : 0; }
  void undo() noexcept;

 private:
  void make(const Say& say);

  StateSpec spec_;
  std::optional<CacheSource> source_;
  std::optional<Setting> proactiveness_;
  std::unique_ptr<Helper> helper_;
  MemorySnapshot reached_;
  Verdict verdict_;
};

/// Drops clean caches and compacts: what all states start from.
void settle_memory();

}  // namespace pagemix::bench
