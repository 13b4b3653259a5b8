// SPDX-License-Identifier: Apache-2.0
// Run profiles: what is measured and how often. Keys of the INI section [run],
// each of which is also a command-line option.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/frame.hpp"
#include "plan/ini.hpp"

namespace pagemix::bench {

/// One size to measure, as written and in bytes.
struct Size {
  std::string text;
  std::uint64_t bytes = 0;
};

/// Blocks of a DMA pool.
struct PoolBlock {
  std::uint32_t bytes = 0;
  std::uint32_t align = 0;  ///< a power of two
};

struct Profile {
  std::vector<std::string> mixes;
  std::vector<std::string> layouts;   ///< scattered, buddy
  std::vector<std::string> families;  ///< of families()
  std::vector<std::string> states;    ///< warm, cold
  std::vector<Size> bytes;            ///< multiples of 4096
  std::uint32_t iterations = 0;       ///< samples of a case in one block
  std::uint32_t blocks = 0;           ///< turns of the interleaving
  std::uint32_t warmup = 0;           ///< unmeasured repetitions before each case
  std::uint64_t seed = 0;             ///< of the order of cases and of the scattered layout
  std::string direction;              ///< bidirectional, to_device, from_device
  std::vector<std::string> domains;   ///< strict, lazy, identity; empty: as the machine has it
  std::vector<std::string> sources;   ///< file_map: of memfd_sources()
  std::vector<std::string> backends;  ///< of VFIO: backend_names(); empty: the first offered

  std::vector<std::uint32_t> threads = {1};  ///< that map at once, one a CPU

  std::vector<Size> coherent_bytes;  ///< coherent: 4K..32M
  std::vector<std::string>
      coherent_attrs;                  ///< coherent: default, zero, single_pages, no_kernel_mapping
  std::vector<PoolBlock> pool_blocks;  ///< dma_pool
  std::vector<std::uint32_t> pool_pages;  ///< dma_pool: whose blocks are all allocated
  std::vector<std::string> pool_frees;    ///< dma_pool: in_order, reversed, random

  std::vector<std::uint32_t> depths;   ///< use_stream: commands in flight
  std::vector<Size> windows;           ///< use_random: working sets, multiples of 4096
  std::uint64_t accesses = 0;          ///< use_random: at most so many in a pass
  std::vector<Frame> frames;           ///< use_column
  Frame pipeline_frame;                ///< use_pipeline: each of its frames
  std::uint32_t columns = 0;           ///< columns of tiles read of a frame; 0: all
  std::vector<std::string> maps;       ///< use_pipeline: kept, each
  std::vector<std::string> importers;  ///< import: names of DRM drivers

  std::vector<std::string> memory;        ///< alloc_series, order_speed: states of memory
  std::vector<std::string> heaps;         ///< alloc_series: nodes of heaps
  std::vector<std::string> trace;         ///< alloc_series: auto, on, off
  std::uint32_t allocations = 0;          ///< alloc_series: of a series
  std::optional<std::uint32_t> pause_ms;  ///< alloc_series: between two; nullopt: by the clock
  std::vector<std::uint32_t> orders;      ///< order_speed
  double unusable = 1;                    ///< fragmented, pinned: part of the free memory
  std::uint32_t state_limit = 0;          ///< seconds that making a state may take
  std::string cache_source;               ///< folder or block device for page cache; "": found

  /// Every key as "run.<key>" with the text it has, defaults included.
  std::map<std::string, std::string> config;
  /// Where a key was given ("quick.ini:4", "--bytes", "default").
  std::map<std::string, std::string> where;
};

/// What one key of [run] is for; drives the command line and its help.
struct ProfileKey {
  const char* name;
  const char* fallback;  ///< nullptr: the key must be given
  const char* help;      ///< one line, with the allowed values
};
std::span<const ProfileKey> profile_keys();

/// A benchmark family that a profile can name.
struct FamilyHelp {
  const char* name;
  const char* help;  ///< one line: what a sample is
};
std::span<const FamilyHelp> families();
std::vector<std::string> family_names();

/// Value of a key on the command line.
struct Override {
  std::string key;
  std::string value;
};

/// Checks keys and values. UsageError "<file:line or --key>: ..." names the
/// value and what is allowed. @p known_mixes are the names of the mixes file.
Profile make_profile(const Ini& ini, const std::string& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes);

/// make_profile() of a file.
Profile load_profile(const std::filesystem::path& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes);

}  // namespace pagemix::bench
