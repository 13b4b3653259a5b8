// SPDX-License-Identifier: Apache-2.0
#include "pressure/state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/dma_heap.hpp"
#include "pressure/anonymous.hpp"
#include "pressure/cgroup.hpp"
#include "pressure/churn.hpp"

namespace pagemix::bench {
namespace {

const std::vector<std::string> kStates = {"fresh", "low", "fragmented", "pinned", "aged"};

// Of a fresh machine's free memory at least half is in blocks of 1 MiB.
constexpr double kFreshUnusable = 0.5;
// How near fragmented and pinned must come to their target.
constexpr double kUnusableTolerance = 0.02;
// An aged machine cannot use a third of its free memory for 1 MiB.
constexpr double kAgedUnusable = 0.33;
constexpr unsigned kAgedSteps = 100;
constexpr unsigned kAgedRounds = 4;

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

unsigned large_order() { return order_of(kLargeBlock); }

std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.1f %%", part * 100);
  return text;
}

std::string mib(std::uint64_t pages) { return std::to_string(pages * page_bytes() >> 20) + " MiB"; }

// Pages that filling leaves free: twice what wakes nobody up.
std::uint64_t headroom(const Watermarks& marks) { return 2 * marks.high; }

std::uint64_t total_pages() { return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)); }

Verdict judge_fresh(const MemorySnapshot& now) {
  const double index = now.usable.unusable(large_order());
  return {index <= kFreshUnusable, "free memory that 1 MiB cannot use: " + percent(index) +
                                       ", wanted at most " + percent(kFreshUnusable)};
}

// Below some 2.8 times the high watermark kswapd was seen to take page cache back
// as fast as it is read.
std::uint64_t low_target(const Watermarks& marks) { return 3 * marks.high; }

Verdict judge_low(const MemorySnapshot& now) {
  const std::uint64_t most = low_target(now.watermarks) * 11 / 10;
  const bool reached = now.free_pages > now.watermarks.low && now.free_pages <= most &&
                       now.file_pages >= total_pages() / 4;
  return {reached, "free " + mib(now.free_pages) + ", wanted more than the low watermark " +
                       mib(now.watermarks.low) + " and at most " + mib(most) + "; page cache " +
                       mib(now.file_pages) + ", wanted at least " + mib(total_pages() / 4)};
}

Verdict judge_fragmented(const StateSpec& spec, const MemorySnapshot& now) {
  const unsigned order = order_of(spec.block_bytes);
  const double index = now.usable.unusable(order);
  const std::uint64_t least = headroom(now.watermarks);
  const double low = spec.unusable - kUnusableTolerance;
  const double high = std::min(spec.unusable + kUnusableTolerance, 1.0);
  return {index >= low && index <= high && now.free_pages >= least,
          "free memory that " + format_size(spec.block_bytes) + " cannot use: " + percent(index) +
              ", wanted " + percent(low) + " to " + percent(high) + "; free " +
              mib(now.free_pages) + ", wanted at least " + mib(least)};
}

Verdict judge_aged(const MemorySnapshot& before, const MemorySnapshot& now) {
  const double index = now.usable.unusable(large_order());
  const bool used = now.free_pages < before.free_pages * 3 / 4;
  return {index >= kAgedUnusable && used,
          "free memory that 1 MiB cannot use: " + percent(index) + ", wanted at least " +
              percent(kAgedUnusable) + "; free " + mib(now.free_pages) + ", wanted less than " +
              mib(before.free_pages * 3 / 4)};
}

// Of so many blocks none is broken, so that the rest of the free memory is the
// wanted part: a broken block keeps one of its pages.
double whole_part(const StateSpec& spec) {
  const double pages = std::exp2(order_of(spec.block_bytes));
  const double broken = (pages - 1) / pages;
  return broken * (1 - spec.unusable) / (spec.unusable + broken * (1 - spec.unusable));
}

// Whole blocks that are free beyond what is wanted: buffers of the heap take
// them, a few rounds long, as their own bookkeeping and other processes may free
// some. The verdict is judge_fragmented()'s.
void soak_up(const StateSpec& spec, std::vector<vfio::UniqueFd>& buffers) {
  const unsigned order = order_of(spec.block_bytes);
  const DmaHeap heap(spec.heap);
  for (int round = 0; round < 8; ++round) {
    const FreeBlocks usable = memory_snapshot().usable;
    const auto wanted =
        static_cast<std::uint64_t>((1 - spec.unusable) * static_cast<double>(usable.pages()));
    if (usable.pages_at_least(order) <= wanted) return;
    const std::uint64_t blocks =
        std::max((usable.pages_at_least(order) - wanted) >> order, std::uint64_t{1});
    for (std::uint64_t i = 0; i < blocks;) {
      // 16 blocks at a time while there are many: fewer descriptors.
      const std::uint64_t many = blocks - i >= 32 ? 16 : 1;
      int buffer = -1;
      if (const int error = heap.try_allocate(many * spec.block_bytes, buffer); error != 0)
        throw_errno("take left over blocks from " + spec.heap, error);
      buffers.emplace_back(buffer);
      i += many;
    }
  }
}

// Since 6.7 per-CPU lists grow with use, up to a tenth of the machine, and hide
// what they hold from the buddy lists, until a direct reclaim drains them: whole
// blocks would show up in a fragmented machine. Each refresh lowers how much they
// may hold by an eighth and takes what is above (decay_pcp_high() of
// mm/page_alloc.c).
void drain_cpu_lists() noexcept {
  const auto look = [] { return parse_cpu_lists(vfio::read_text("/proc/zoneinfo").value_or("")); };
  CpuLists before = look();
  for (int i = 0; i < 128; ++i) {
    // Where it cannot be written the lists drain by themselves, later.
    if (vfio::write_attribute("/proc/sys/vm/stat_refresh", "1") != 0) return;
    const CpuLists now = look();
    if (now.pages >= before.pages && now.high >= before.high) return;
    before = now;
  }
}

// A compaction of all memory moves every page that can be moved.
void compact_memory() {
  if (const int error = vfio::write_attribute("/proc/sys/vm/compact_memory", "1"); error != 0)
    throw_errno("write 1 to /proc/sys/vm/compact_memory", error);
}

void hold_blocks(const StateSpec& spec, const MemorySnapshot& before, const HelperSide& parent) {
  const unsigned order = order_of(spec.block_bytes);
  const bool pin = spec.state == "pinned";
  raise_open_files();
  // They live until the helper is ended: it never leaves.
  static std::vector<vfio::UniqueFd> buffers;
  static std::vector<vfio::UniqueFd> pipes;
  static AnonymousFill fill;
  if (pin) pipes = make_pipes((total_pages() >> order) + 1);
  fill.fill_until(headroom(before.watermarks), parent);
  fill.punch_out(order, spec.seed, whole_part(spec));
  parent.say(std::to_string(fill.kept()) + " pages kept, one in a block of " +
             format_size(spec.block_bytes));
  if (pin) {
    fill.pin(pipes);
    compact_memory();  // what can be moved is moved now, and the state is still there
  }
  drain_cpu_lists();
  soak_up(spec, buffers);
}

void grow_old(const StateSpec& spec, const CacheSource& source, const MemorySnapshot& before,
              const HelperSide& parent) {
  static std::optional<Churn> churn;
  churn.emplace(spec.seed, spec.heap, source);
  for (unsigned round = 0; round < kAgedRounds; ++round) {
    churn->run(kAgedSteps, headroom(before.watermarks), parent);
    churn->make_room(std::min(before.free_pages * 7 / 10, total_pages() * 4 / 10));
    drain_cpu_lists();
    if (judge_aged(before, memory_snapshot()).reached) return;
  }
}

void require_cgroup_room(const StateSpec& spec, const MemorySnapshot& before) {
  const std::uint64_t keep = headroom(before.watermarks);
  const std::uint64_t need =
      before.free_pages > keep ? (before.free_pages - keep) * page_bytes() : 0;
  if (const auto limit = cgroup_memory_limit(); limit && limit->left() < need)
    throw RunError("cannot be reached: control group " + limit->file + " allows " +
                   format_size(limit->bytes) + ", of which " + format_size(limit->used) +
                   " are used; " + spec.state + " takes " + std::to_string(need >> 20) +
                   " MiB; run outside of the group or raise its memory.max");
}

}  // namespace

std::span<const std::string> memory_state_names() { return kStates; }

Verdict judge(const StateSpec& spec, const MemorySnapshot& before, const MemorySnapshot& now) {
  if (spec.state == "fresh") return judge_fresh(now);
  if (spec.state == "low") return judge_low(now);
  if (spec.state == "aged") return judge_aged(before, now);
  return judge_fragmented(spec, now);
}

void settle_memory() {
  drain_cpu_lists();
  if (const int error = vfio::write_attribute("/proc/sys/vm/drop_caches", "3"); error != 0)
    throw_errno("write 3 to /proc/sys/vm/drop_caches (run as root)", error);
  compact_memory();
}

MemoryState::MemoryState(const StateSpec& spec, const Say& say) : spec_(spec) {
  try {
    make(say);
  } catch (const RunError& error) {
    undo();
    throw RunError("state " + spec_.state + ": " + error.what());
  } catch (...) {
    undo();
    throw;
  }
}

MemoryState::~MemoryState() { undo(); }

void MemoryState::make(const Say& say) {
  settle_memory();
  const MemorySnapshot before = memory_snapshot();
  if (spec_.state != "fresh") {
    require_cgroup_room(spec_, before);
    // Twice a second kcompactd would repair what was broken on purpose (Linux 5.9).
    proactiveness_.emplace("/proc/sys/vm/compaction_proactiveness", "0");
    // Boosted, the watermarks would not let page cache fill memory (Linux 5.0). As
    // it was again before anything is measured.
    const Setting boost("/proc/sys/vm/watermark_boost_factor", "0");
    if (spec_.state == "low" || spec_.state == "aged")
      source_ = find_cache_source(spec_.cache_source);
    helper_ =
        std::make_unique<Helper>("holding memory", spec_.limit, [&](const HelperSide& parent) {
          if (spec_.state == "low") {
            static vfio::UniqueFd file;
            file = source_->open();
            fill_page_cache(*source_, file.get(), low_target(before.watermarks), parent);
          } else if (spec_.state == "aged") {
            grow_old(spec_, *source_, before, parent);
          } else {
            hold_blocks(spec_, before, parent);
          }
        });
    helper_->wait_ready(say);
  }
  drain_cpu_lists();
  reached_ = memory_snapshot();
  verdict_ = judge(spec_, before, reached_);
  if (!verdict_.reached) throw RunError("not reached: " + verdict_.text);
}

void MemoryState::check() {
  if (!helper_) return;
  try {
    helper_->check();
  } catch (const RunError& error) {
    throw RunError("state " + spec_.state + ": " + error.what());
  }
}

void MemoryState::undo() noexcept {
  helper_.reset();
  if (source_) drop_page_cache(*source_);
  source_.reset();
  proactiveness_.reset();
  drain_cpu_lists();
}

}  // namespace pagemix::bench
