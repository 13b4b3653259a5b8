// SPDX-License-Identifier: Apache-2.0
#include "plan/profile.hpp"

#include <pagemix.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "plan/family_table.hpp"

namespace pagemix::bench {
namespace {

constexpr std::array kCommonKeys = {
    ProfileKey{"mixes", nullptr, "mixes to measure, by name in the mixes file"},
    ProfileKey{"layouts", "scattered buddy", "order of the chunks: scattered, buddy"},
    ProfileKey{"families", "alloc free map_sgtable unmap_sgtable vfio_map vfio_unmap sample_cost",
               "benchmark families (see pagemix list)"},
    ProfileKey{"states", "warm",
               "warm, cold: cold maps at fresh addresses, allocates from a fresh pool"},
    ProfileKey{"bytes", "10M", "buffer sizes, such as 64K 10M 10485760; whole multiples of 4K"},
    ProfileKey{"iterations", "10", "samples of a case in one block, 1..1048576"},
    ProfileKey{"blocks", "2", "turns of the interleaving, 1..1000"},
    ProfileKey{"warmup", "2", "unmeasured repetitions before a warm case, 0..1048576"},
    ProfileKey{"seed", "1", "of the order of cases and of the scattered layout, 0..2^64-1"},
    ProfileKey{"direction", "bidirectional", "of the DMA: bidirectional, to_device, from_device"},
    ProfileKey{
        "threads", "1",
        "threads that map at once, each pinned to a CPU, 1..256 (operations on the DMA API)"},
    ProfileKey{"domain", "found",
               "domain modes to switch the device to, for the families on the DMA API: strict, "
               "lazy, identity; found: as the machine has it"},
    ProfileKey{
        "backend", "auto",
        "kernel interfaces for the families on VFIO (vfio_*, file_*, use_*): type1, iommufd, "
        "iommufd-4k (without huge pages); auto: the first that the kernel offers"},
};
const std::vector<std::string> kLayouts = {"scattered", "buddy"};
const std::vector<std::string> kStates = {"warm", "cold"};
const std::vector<std::string> kDirections = {"bidirectional", "to_device", "from_device"};
const std::vector<std::string> kDomains = {"found", "strict", "lazy", "identity"};

constexpr std::uint32_t kMaxThreads = 256;

std::vector<std::string> domains_of(const Value& value) {
  std::vector<std::string> given = words(value, kDomains);
  if (std::ranges::count(given, "found") == 0) return given;
  if (given.size() > 1)
    value.reject("found beside another value", "found; or of strict, lazy, identity");
  return {};
}

std::vector<std::string> backends_of(const Value& value) {
  if (value.text == "auto") return {};
  std::vector<std::string> allowed;
  for (const char* name : vfio::iommu::backend_names()) allowed.emplace_back(name);
  allowed.emplace_back("auto");
  std::vector<std::string> given = words(value, allowed);
  if (std::ranges::count(given, "auto") != 0)
    value.reject("auto beside another value", "auto; or of the others");
  return given;
}

std::string direction_of(const Value& value) {
  const std::vector<std::string> given = words(value, kDirections);
  if (given.size() != 1) value.reject("more than one value", "one of " + join(kDirections));
  return given.front();
}

std::string key_names() {
  std::vector<std::string> names;
  for (const ProfileKey* key : profile_keys()) names.emplace_back(key->name);
  return join(names);
}

bool is_key(const std::string& name) {
  return std::ranges::any_of(profile_keys(),
                             [&](const ProfileKey* key) { return name == key->name; });
}

// Values of all keys: the default, then the file's, then the command line's.
std::map<std::string, Value> collect(const Ini& ini, const std::string& file,
                                     std::span<const Override> overrides) {
  for (const IniSection& section : ini.sections)
    if (section.name != "run")
      throw UsageError(section.where + ": unknown section [" + section.name + "]; allowed: [run]");
  std::map<std::string, Value> values;
  for (const ProfileKey* key : profile_keys())
    if (key->fallback != nullptr) values[key->name] = {key->name, key->fallback, "default"};
  for (const IniEntry& entry : ini.entries) {
    if (entry.section.empty())
      throw UsageError(entry.where + ": key \"" + entry.key +
                       "\" outside of a section; allowed: keys of [run]");
    if (!is_key(entry.key))
      throw UsageError(entry.where + ": unknown key \"" + entry.key +
                       "\" of [run]; allowed: " + key_names());
    values[entry.key] = {entry.key, entry.value, entry.where};
  }
  for (const Override& option : overrides)
    values[option.key] = {option.key, option.value, "--" + option.key};
  for (const ProfileKey* key : profile_keys())
    if (!values.contains(key->name))
      throw UsageError(file + ": key \"" + key->name + "\" of [run] is missing: " + key->help);
  return values;
}

}  // namespace

std::vector<const ProfileKey*> profile_keys() {
  std::vector<const ProfileKey*> keys;
  for (const ProfileKey& key : kCommonKeys) keys.push_back(&key);
  for (const FamilyDescriptor* family : families())
    for (const ProfileKey* key : family->keys)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

Value Profile::value(const ProfileKey& key) const {
  const auto found = values.find(key.name);
  return found == values.end() ? Value{key.name, key.fallback, "default"} : found->second;
}

Profile make_profile(const Ini& ini, const std::string& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes) {
  Profile profile;
  profile.values = collect(ini, file, overrides);
  const std::map<std::string, Value>& values = profile.values;
  const auto number_of = [&](const char* key, std::uint64_t lowest, std::uint64_t highest) {
    return static_cast<std::uint32_t>(number(values.at(key), lowest, highest));
  };
  profile.mixes = words(values.at("mixes"), known_mixes);
  profile.layouts = words(values.at("layouts"), kLayouts);
  profile.families = words(values.at("families"), family_names());
  profile.states = words(values.at("states"), kStates);
  profile.bytes = sizes(values.at("bytes"));
  profile.iterations = number_of("iterations", 1, PAGEMIX_MAX_SAMPLES);
  profile.blocks = number_of("blocks", 1, 1000);
  profile.warmup = number_of("warmup", 0, PAGEMIX_MAX_SAMPLES);
  profile.seed = number(values.at("seed"), 0, std::numeric_limits<std::uint64_t>::max());
  profile.direction = direction_of(values.at("direction"));
  profile.threads = numbers(values.at("threads"), 1, kMaxThreads);
  profile.domains = domains_of(values.at("domain"));
  profile.backends = backends_of(values.at("backend"));
  for (const ProfileKey* key : profile_keys())
    if (key->check != nullptr) key->check(values.at(key->name));
  return profile;
}

Profile load_profile(const std::filesystem::path& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes) {
  return make_profile(read_ini(file), file.string(), overrides, known_mixes);
}

}  // namespace pagemix::bench
