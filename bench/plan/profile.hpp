// SPDX-License-Identifier: Apache-2.0
// Run profiles: what is measured and how often. Keys of the INI section [run],
// each of which is also a command-line option. Keys that one family reads stand in
// its descriptor; those here are common to several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/ini.hpp"
#include "plan/value.hpp"

namespace pagemix::bench {

/// What one key of [run] is for; drives the command line and its help.
struct ProfileKey {
  const char* name;
  const char* fallback;  ///< nullptr: the key must be given
  const char* help;      ///< one line, with the allowed values
  /// Throws as Value::reject() does. nullptr: make_profile() reads it.
  void (*check)(const Value&) = nullptr;
};

struct Profile {
  std::vector<std::string> mixes;
  std::vector<std::string> layouts;   ///< scattered, buddy
  std::vector<std::string> families;  ///< of family_names()
  std::vector<std::string> states;    ///< warm, cold
  std::vector<Size> bytes;            ///< multiples of 4096
  std::uint32_t iterations = 0;       ///< samples of a case in one block
  std::uint32_t blocks = 0;           ///< turns of the interleaving
  std::uint32_t warmup = 0;           ///< unmeasured repetitions before each case
  std::uint64_t seed = 0;             ///< of the order of cases and of the scattered layout
  std::string direction;              ///< bidirectional, to_device, from_device
  std::vector<std::string> domains;   ///< strict, lazy, identity; empty: as the machine has it
  std::vector<std::string> backends;  ///< of VFIO: backend_names(); empty: the first offered
  std::vector<std::uint32_t> threads = {1};  ///< that map at once, one a CPU

  /// Every key, defaults included.
  std::map<std::string, Value> values;

  /// The value of a key; its default where @c values has none.
  Value value(const ProfileKey& key) const;
};

/// A key of a family: @p Parse takes a Value, checks it and returns what it says.
template <auto Parse>
struct Key : ProfileKey {
  constexpr Key(const char* key, const char* fallback_text, const char* help_text)
      : ProfileKey{key, fallback_text, help_text, [](const Value& value) { Parse(value); }} {}

  auto of(const Profile& profile) const { return Parse(profile.value(*this)); }
};

/// The common keys, then those of the families by the families' names.
std::vector<const ProfileKey*> profile_keys();

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
