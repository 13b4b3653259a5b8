// SPDX-License-Identifier: Apache-2.0
#include "plan/profile.hpp"

#include <pagemix.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/memfd.hpp"
#include "pagemix/vfio/iommu/backend.hpp"
#include "pressure/state.hpp"

namespace pagemix::bench {
namespace {

constexpr std::array kKeys = {
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
    ProfileKey{"coherent_bytes", "4K 64K 1M 10M 32M", "coherent: sizes, 4K..32M"},
    ProfileKey{"coherent_attrs", "default single_pages no_kernel_mapping",
               "coherent: default, zero (__GFP_ZERO), and DMA_ATTR_ALLOC_SINGLE_PAGES and "
               "_NO_KERNEL_MAPPING as single_pages, no_kernel_mapping"},
    ProfileKey{"pool_blocks", "16 64 256 1K 4K",
               "dma_pool: bytes of a block, 16..4K; BYTES@ALIGN where they are no power of two"},
    ProfileKey{"pool_pages", "1 10 100 1000 10000", "dma_pool: pages whose blocks are allocated"},
    ProfileKey{"pool_frees", "in_order reversed random", "dma_pool: orders of freeing"},
    ProfileKey{"domain", "found",
               "domain modes to switch the device to, for the families on the DMA API: strict, "
               "lazy, identity; found: as the machine has it"},
    ProfileKey{"backend", "auto",
               "kernel interfaces for the vfio_* and use_* families: type1, iommufd, iommufd-4k "
               "(without huge pages); auto: the first that the kernel offers"},
    ProfileKey{"sources", "shmem hugetlb-2M",
               "file_map: memfds: shmem, hugetlb-64K, hugetlb-2M, hugetlb-32M, hugetlb-512M, "
               "hugetlb-1G"},
    ProfileKey{"depths", "1 8 32 128", "use_stream: commands in flight, 1..1024"},
    ProfileKey{"windows",
               "16K 32K 64K 128K 192K 256K 384K 512K 640K 768K 896K 1M 1152K 1280K 1536K 1792K 2M "
               "3M 4M 6M 8M 12M 16M 24M 32M 48M 64M 96M 128M 192M 256M 384M 512M 640M 768M 896M 1G",
               "use_random: working sets, as bytes; those above a buffer are left out"},
    ProfileKey{"accesses", "65536", "use_random: accesses of a pass at most, 1..16777216"},
    ProfileKey{"frames", "1920x1080-nv12 1920x1080-rgba 3840x2160-nv12 3840x2160-rgba",
               "use_column: <width>x<height>-nv12 or -rgba"},
    ProfileKey{"pipeline_frame", "3840x2160-nv12", "use_pipeline: its frames, one value"},
    ProfileKey{"columns", "0", "columns of tiles that are read of a frame, 0..256; 0: all"},
    ProfileKey{"maps", "kept each",
               "use_pipeline: buffers mapped once (kept), for each frame (each)"},
    ProfileKey{"importers", "vgem cirrus", "import: DRM drivers, by name"},
    ProfileKey{"memory", "fresh",
               "alloc_series, order_speed: states of memory: fresh, low, fragmented, pinned, aged"},
    ProfileKey{"heap", "/dev/dma_heap/pagemix",
               "alloc_series: heaps, by node; one that is not pagemix has a mix of its own"},
    ProfileKey{"trace", "auto",
               "alloc_series: attribution by trace events: auto (when possible), on, off"},
    ProfileKey{"allocations", "16", "alloc_series: buffers of a series, all held, 1..4096"},
    ProfileKey{"pause", "auto",
               "alloc_series: ms between two allocations, 0..60000; auto: 1000, 0 in an emulator"},
    ProfileKey{"orders", "4 8", "order_speed: orders, 0..15"},
    ProfileKey{"unusable", "100",
               "fragmented, pinned: percent of free memory in blocks below 64K, 10..100"},
    ProfileKey{"state_limit", "300", "seconds that making a state of memory may take, 1..86400"},
    ProfileKey{"cache_source", "auto",
               "low, aged: folder on a disk, or block device to read, for the page cache"},
};

constexpr std::array kFamilies = {
    FamilyHelp{"alloc", "allocate and zero a buffer (user-space clock)"},
    FamilyHelp{"free", "free it: close() of its only file descriptor (user-space clock)"},
    FamilyHelp{"map_sgtable", "dma_map_sgtable() of one attachment (in the module)"},
    FamilyHelp{"unmap_sgtable", "dma_unmap_sgtable() of it (in the module)"},
    FamilyHelp{"attach_map",
               "dma-buf attach, map, unmap, detach: an importer's cycle (in the module)"},
    FamilyHelp{"map_page", "dma_map_page() of every chunk (in the module)"},
    FamilyHelp{"map_single", "dma_map_single() of every chunk (in the module)"},
    FamilyHelp{"unmap_page", "dma_unmap_page() of every chunk (in the module)"},
    FamilyHelp{"iommu_map", "iommu_map() of every run: page tables without IOVAs (in the module)"},
    FamilyHelp{"iommu_map_sg", "iommu_map_sg() of the buffer (in the module)"},
    FamilyHelp{"iommu_unmap", "iommu_unmap() of the buffer (in the module)"},
    FamilyHelp{"iova_link", "dma_iova_link() of every run, Linux 6.16 and later (in the module)"},
    FamilyHelp{"iova_unlink", "dma_iova_unlink() of the buffer (in the module)"},
    FamilyHelp{"coherent", "dma_alloc_attrs() and dma_free_attrs() (in the module)"},
    FamilyHelp{"dma_pool", "dma_pool_alloc() and _free() of all blocks of a pool (in the module)"},
    FamilyHelp{"vfio_map", "VFIO_IOMMU_MAP_DMA of the mmapped buffer (user-space clock)"},
    FamilyHelp{"vfio_unmap", "VFIO_IOMMU_UNMAP_DMA of it (user-space clock)"},
    FamilyHelp{"file_map", "IOMMU_IOAS_MAP_FILE of a memfd (user-space clock)"},
    FamilyHelp{"file_unmap", "IOMMU_IOAS_UNMAP of it (user-space clock)"},
    FamilyHelp{"sync", "begin and end of CPU access to a mapped buffer (in the module)"},
    FamilyHelp{"import", "PRIME import and release by a DRM driver (user-space clock)"},
    FamilyHelp{"use_stream", "an NVMe drive fills the buffer by large transfers"},
    FamilyHelp{"use_random", "it writes a block into random pages of a working set: IOTLB reach"},
    FamilyHelp{"use_column", "it reads a frame down columns of tiles, as a rotation does"},
    FamilyHelp{"use_pipeline", "it writes and reads frames of a queue, mapped once or each"},
    FamilyHelp{"alloc_series", "buffers one after the other, all held, in a state of memory"},
    FamilyHelp{"order_speed", "blocks of one order in a state of memory"},
    FamilyHelp{"sample_cost", "what a sample contains besides the operation"},
};
const std::vector<std::string> kLayouts = {"scattered", "buddy"};
const std::vector<std::string> kStates = {"warm", "cold"};
const std::vector<std::string> kFrees = {"in_order", "reversed", "random"};
const std::vector<std::string> kCoherentAttrs = {"default", "single_pages", "no_kernel_mapping",
                                                 "zero"};
const std::vector<std::string> kMaps = {"kept", "each"};
const std::vector<std::string> kTraces = {"auto", "on", "off"};
const std::vector<std::string> kDirections = {"bidirectional", "to_device", "from_device"};
const std::vector<std::string> kDomains = {"found", "strict", "lazy", "identity"};

constexpr std::uint64_t kMinBytes = 4096;
constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;
constexpr std::uint32_t kMaxThreads = 256;

struct Value {
  std::string key;
  std::string text;
  std::string where;

  [[noreturn]] void reject(const std::string& problem, const std::string& allowed) const {
    throw UsageError(where + ": " + key + ": " + problem + "; allowed: " + allowed);
  }
};

std::vector<std::string> words(const Value& value, std::span<const std::string> allowed) {
  const std::vector<std::string> given = split_words(value.text);
  if (given.empty()) value.reject("no value", join(allowed));
  std::set<std::string> seen;
  for (const std::string& word : given) {
    if (std::ranges::find(allowed, word) == allowed.end())
      value.reject("unknown value \"" + word + "\"", join(allowed));
    if (!seen.insert(word).second) value.reject("\"" + word + "\" given twice", "each value once");
  }
  return given;
}

std::vector<Size> sizes(const Value& value, std::uint64_t highest = kMaxBytes) {
  const std::string last = highest == kMaxBytes ? "64G" : std::to_string(highest >> 20) + "M";
  const std::string allowed = "multiples of 4K from 4K to " + last + ", as in 64K, 10M or 10485760";
  std::vector<Size> given;
  std::set<std::uint64_t> seen;
  for (const std::string& word : split_words(value.text)) {
    const auto bytes = parse_size(word);
    if (!bytes) value.reject("unreadable size \"" + word + "\"", allowed);
    if (*bytes < kMinBytes || *bytes > highest)
      value.reject("size \"" + word + "\" out of range", allowed);
    if (*bytes % kMinBytes != 0) value.reject("size \"" + word + "\" is no whole pages", allowed);
    if (!seen.insert(*bytes).second)
      value.reject("size \"" + word + "\" given twice", "each value once");
    given.push_back({word, *bytes});
  }
  if (given.empty()) value.reject("no value", allowed);
  return given;
}

template <typename T>
T number(const Value& value, std::uint64_t lowest, std::uint64_t highest) {
  const std::string allowed = std::to_string(lowest) + ".." + std::to_string(highest);
  const auto given = parse_number(value.text);
  if (!given) value.reject("unreadable number \"" + value.text + "\"", allowed);
  if (*given < lowest || *given > highest)
    value.reject("number " + value.text + " out of range", allowed);
  return static_cast<T>(*given);
}

std::vector<std::uint32_t> numbers(const Value& value, std::uint64_t lowest,
                                   std::uint64_t highest) {
  std::vector<std::uint32_t> given;
  for (const std::string& word : split_words(value.text)) {
    given.push_back(number<std::uint32_t>({value.key, word, value.where}, lowest, highest));
    if (std::ranges::count(given, given.back()) > 1)
      value.reject("\"" + word + "\" given twice", "each value once");
  }
  if (given.empty())
    value.reject("no value", std::to_string(lowest) + ".." + std::to_string(highest));
  return given;
}

PoolBlock pool_block(const Value& value, const std::string& word) {
  const std::string allowed = std::to_string(PAGEMIX_MIN_BLOCK) + ".." +
                              std::to_string(PAGEMIX_MAX_BLOCK) +
                              ", as in 16, 1K or 68@32; an alignment is a power of two";
  const std::size_t at = word.find('@');
  const auto bytes = parse_size(word.substr(0, at));
  const auto align = at == std::string::npos ? bytes : parse_size(word.substr(at + 1));
  if (!bytes || !align) value.reject("unreadable block \"" + word + "\"", allowed);
  if (*bytes < PAGEMIX_MIN_BLOCK || *bytes > PAGEMIX_MAX_BLOCK)
    value.reject("block \"" + word + "\" out of range", allowed);
  if (!std::has_single_bit(*align) || *align > PAGEMIX_MAX_BLOCK)
    value.reject("alignment of block \"" + word + "\" is no power of two", allowed);
  return {static_cast<std::uint32_t>(*bytes), static_cast<std::uint32_t>(*align)};
}

// Keys of the families that allocate memory for a device.
void read_device_memory_keys(Profile& profile, const std::map<std::string, Value>& values) {
  profile.coherent_bytes = sizes(values.at("coherent_bytes"), PAGEMIX_MAX_COHERENT);
  profile.coherent_attrs = words(values.at("coherent_attrs"), kCoherentAttrs);
  const Value& blocks = values.at("pool_blocks");
  const std::vector<std::string> given = split_words(blocks.text);
  for (const std::string& word : words(blocks, given))
    profile.pool_blocks.push_back(pool_block(blocks, word));
  profile.pool_pages = numbers(values.at("pool_pages"), 1, PAGEMIX_MAX_POOL_PAGES);
  profile.pool_frees = words(values.at("pool_frees"), kFrees);
}

std::vector<Frame> frames_of(const Value& value) {
  std::vector<Frame> given;
  for (const std::string& word : split_words(value.text)) {
    const auto frame = parse_frame(word);
    if (!frame) value.reject("unreadable frame \"" + word + "\"", kFrameNames);
    if (std::ranges::find(given, word, &Frame::name) != given.end())
      value.reject("\"" + word + "\" given twice", "each value once");
    given.push_back(*frame);
  }
  if (given.empty()) value.reject("no value", kFrameNames);
  return given;
}

// Any names: which drivers there are is the kernel's to say.
std::vector<std::string> names_of(const Value& value) {
  const std::string allowed = "names of DRM drivers, such as vgem; letters, digits, - and _";
  std::vector<std::string> given = split_words(value.text);
  if (given.empty()) value.reject("no value", allowed);
  for (const std::string& word : given)
    if (!std::ranges::all_of(
            word, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }))
      value.reject("unreadable name \"" + word + "\"", allowed);
  return words(value, given);
}

// Keys of the families that use buffers.
void read_use_keys(Profile& profile, const std::map<std::string, Value>& values) {
  profile.depths = numbers(values.at("depths"), 1, 1024);
  profile.windows = sizes(values.at("windows"));
  profile.accesses = number<std::uint64_t>(values.at("accesses"), 1, 1u << 24);
  profile.frames = frames_of(values.at("frames"));
  const std::vector<Frame> pipeline = frames_of(values.at("pipeline_frame"));
  if (pipeline.size() != 1) values.at("pipeline_frame").reject("more than one value", kFrameNames);
  profile.pipeline_frame = pipeline.front();
  profile.columns = number<std::uint32_t>(values.at("columns"), 0, 256);
  profile.maps = words(values.at("maps"), kMaps);
  profile.importers = names_of(values.at("importers"));
}

std::vector<std::string> nodes(const Value& value) {
  const std::vector<std::string> given = split_words(value.text);
  for (const std::string& word : given)
    if (!word.starts_with('/') || word.ends_with('/'))
      value.reject("\"" + word + "\" is no node", "paths such as /dev/dma_heap/system");
  if (given.empty()) value.reject("no value", "paths such as /dev/dma_heap/system");
  return words(value, given);
}

// Keys of the families that measure under memory pressure.
void read_pressure_keys(Profile& profile, const std::map<std::string, Value>& values) {
  profile.memory = words(values.at("memory"), memory_state_names());
  profile.heaps = nodes(values.at("heap"));
  profile.trace = words(values.at("trace"), kTraces);
  if (profile.trace.size() > 1 && std::ranges::count(profile.trace, "auto") != 0)
    values.at("trace").reject("auto beside another value", "auto; on; off; on off");
  profile.allocations = number<std::uint32_t>(values.at("allocations"), 1, 4096);
  if (values.at("pause").text != "auto")
    profile.pause_ms = number<std::uint32_t>(values.at("pause"), 0, 60000);
  profile.orders = numbers(values.at("orders"), 0, PAGEMIX_ORDERS - 1);
  profile.unusable = number<std::uint32_t>(values.at("unusable"), 10, 100) / 100.0;
  profile.state_limit = number<std::uint32_t>(values.at("state_limit"), 1, 86400);
  if (const std::string& source = values.at("cache_source").text; source != "auto")
    profile.cache_source = source;
}

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

std::string key_names() {
  std::vector<std::string> names;
  for (const ProfileKey& key : kKeys) names.emplace_back(key.name);
  return join(names);
}

bool is_key(const std::string& name) {
  return std::ranges::any_of(kKeys, [&](const ProfileKey& key) { return name == key.name; });
}

// Values of all keys: the default, then the file's, then the command line's.
std::map<std::string, Value> collect(const Ini& ini, const std::string& file,
                                     std::span<const Override> overrides) {
  for (const IniSection& section : ini.sections)
    if (section.name != "run")
      throw UsageError(section.where + ": unknown section [" + section.name + "]; allowed: [run]");
  std::map<std::string, Value> values;
  for (const ProfileKey& key : kKeys)
    if (key.fallback != nullptr) values[key.name] = {key.name, key.fallback, "default"};
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
  for (const ProfileKey& key : kKeys)
    if (!values.contains(key.name))
      throw UsageError(file + ": key \"" + key.name + "\" of [run] is missing: " + key.help);
  return values;
}

}  // namespace

std::span<const ProfileKey> profile_keys() { return kKeys; }

std::span<const FamilyHelp> families() { return kFamilies; }

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const FamilyHelp& family : kFamilies) names.emplace_back(family.name);
  return names;
}

Profile make_profile(const Ini& ini, const std::string& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes) {
  const std::map<std::string, Value> values = collect(ini, file, overrides);
  Profile profile;
  profile.mixes = words(values.at("mixes"), known_mixes);
  profile.layouts = words(values.at("layouts"), kLayouts);
  profile.families = words(values.at("families"), family_names());
  profile.states = words(values.at("states"), kStates);
  profile.bytes = sizes(values.at("bytes"));
  profile.iterations = number<std::uint32_t>(values.at("iterations"), 1, PAGEMIX_MAX_SAMPLES);
  profile.blocks = number<std::uint32_t>(values.at("blocks"), 1, 1000);
  profile.warmup = number<std::uint32_t>(values.at("warmup"), 0, PAGEMIX_MAX_SAMPLES);
  profile.seed =
      number<std::uint64_t>(values.at("seed"), 0, std::numeric_limits<std::uint64_t>::max());
  const std::vector<std::string> direction = words(values.at("direction"), kDirections);
  if (direction.size() != 1)
    values.at("direction").reject("more than one value", "one of " + join(kDirections));
  profile.direction = direction.front();
  profile.threads = numbers(values.at("threads"), 1, kMaxThreads);
  read_device_memory_keys(profile, values);
  profile.domains = domains_of(values.at("domain"));
  profile.backends = backends_of(values.at("backend"));
  profile.sources = words(values.at("sources"), memfd_sources());
  read_use_keys(profile, values);
  read_pressure_keys(profile, values);
  for (const auto& [key, value] : values) {
    profile.config["run." + key] = value.text;
    profile.where[key] = value.where;
  }
  return profile;
}

Profile load_profile(const std::filesystem::path& file, std::span<const Override> overrides,
                     std::span<const std::string> known_mixes) {
  return make_profile(read_ini(file), file.string(), overrides, known_mixes);
}

}  // namespace pagemix::bench
