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

#include "frame.hpp"
#include "ini.hpp"

namespace pagemix::bench {

/// One size to measure, as written and in bytes.
struct Size {
  std::string text;
  std::uint64_t bytes = 0;
};

struct Profile {
  std::vector<std::string> mixes;
  std::vector<std::string> layouts;   ///< scattered, buddy
  std::vector<std::string> families;  ///< names of kFamilies
  std::vector<std::string> states;    ///< warm, cold
  std::vector<Size> bytes;            ///< multiples of 4096
  std::uint32_t iterations = 0;       ///< samples of a case in one block
  std::uint32_t blocks = 0;           ///< turns of the interleaving
  std::uint32_t warmup = 0;           ///< unmeasured repetitions before each case
  std::uint64_t seed = 0;             ///< of the order of cases and of the scattered layout
  std::string direction;              ///< bidirectional, to_device, from_device

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

/// Benchmark families a profile can name.
std::span<const std::string> family_names();

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
