// SPDX-License-Identifier: Apache-2.0
#include "plan/cases.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "machine/heap_client.hpp"

namespace pagemix::bench {

namespace {

// A size of buffer with what it holds.
struct Shape {
  std::uint64_t bytes = 0;
  std::string frame;  // "" without
};

using Parts = std::vector<Part>;

// An attach_map is a whole cycle: nothing of it stays for the next one to find.
bool has_states(const std::string& family) {
  return is_buffer_operation(family) && family != "attach_map";
}

std::vector<Shape> shapes(const std::string& family, const Profile& profile) {
  std::vector<Shape> found;
  if (family == "use_column") {
    for (const Frame& frame : profile.frames) found.push_back({frame.buffer_bytes(), frame.name});
  } else if (family == "use_pipeline") {
    found.push_back({profile.pipeline_frame.buffer_bytes(), profile.pipeline_frame.name});
  } else {
    for (const Size& size : profile.bytes) found.push_back({size.bytes, {}});
  }
  return found;
}

// Each variant once with each value of a further part.
std::vector<Parts> with_each(const std::vector<Parts>& variants, const std::string& key,
                             const std::vector<std::string>& values) {
  std::vector<Parts> found;
  for (const Parts& parts : variants)
    for (const std::string& value : values) {
      found.push_back(parts);
      found.back().push_back({key, value});
    }
  return found;
}

bool maps_files(std::string_view family) { return family == "file_map" || family == "file_unmap"; }

bool uses_vfio(std::string_view family) {
  return family.starts_with("vfio_") || family.starts_with("use_") || maps_files(family);
}

// The domain modes and backends that the profile names, where they matter.
std::vector<Parts> with_settings(std::vector<Parts> variants, const std::string& family,
                                 const Profile& profile) {
  if (!profile.domains.empty() && has_domain(family))
    return with_each(variants, "domain", profile.domains);
  if (!profile.backends.empty() && uses_vfio(family))
    return with_each(variants, "backend", profile.backends);
  return variants;
}

// file_map/source:shmem/bytes:10485760[/backend:iommufd-4k]
std::vector<Case> file_cases(const std::string& family, const Profile& profile) {
  std::vector<Case> cases;
  for (const Size& size : profile.bytes)
    for (const std::string& source : profile.sources)
      cases.push_back({.family = family,
                       .mix = {},
                       .layout = {},
                       .bytes = size.bytes,
                       .timer = {},
                       .parts = {{"source", source}}});
  return cases;
}

// By which the device must be bound anew.
std::string setting(const Case& item) { return item.domain() + item.backend(); }

void add_columns(Parts& parts, const Profile& profile) {
  if (profile.columns != 0) parts.push_back({"columns", std::to_string(profile.columns)});
}

// Each variant once for each number of threads; one thread is not named.
std::vector<Parts> with_threads(const std::vector<Parts>& variants, const Profile& profile) {
  std::vector<Parts> found;
  for (const Parts& parts : variants)
    for (const std::uint32_t threads : profile.threads) {
      found.push_back(parts);
      if (threads != 1) found.back().push_back({"threads", std::to_string(threads)});
    }
  return found;
}

// What tells the cases of one family and buffer apart; one empty entry for a
// family with a single case.
std::vector<Parts> variants(const std::string& family, const Shape& shape, const Profile& profile) {
  std::vector<Parts> found;
  if (family == "use_stream") {
    for (const std::uint32_t depth : profile.depths)
      found.push_back({{"depth", std::to_string(depth)}});
  } else if (family == "use_random") {
    for (const Size& window : profile.windows)
      if (window.bytes <= shape.bytes) found.push_back({{"window", std::to_string(window.bytes)}});
  } else if (family == "use_column") {
    found.push_back({{"frame", shape.frame}});
    add_columns(found.back(), profile);
  } else if (family == "use_pipeline") {
    for (const std::string& map : profile.maps) {
      found.push_back(
          {{"frame", shape.frame}, {"frames", std::to_string(kPipelineFrames)}, {"map", map}});
      add_columns(found.back(), profile);
    }
  } else if (family == "sync") {
    for (const char* op : {"begin", "end"})
      for (const char* direction : {"bidirectional", "to_device", "from_device"})
        found.push_back({{"op", op}, {"direction", direction}});
  } else if (family == "import") {
    for (const std::string& driver : profile.importers)
      for (const char* op : {"import", "release"})
        found.push_back({{"driver", driver}, {"op", op}});
  } else {
    found.emplace_back();
  }
  return has_threads(family) ? with_threads(found, profile) : found;
}

// alloc_series/mix:8-4-0/heap:pagemix/memory:low/bytes:10485760[/trace:off]
// order_speed/order:4/memory:low/bytes:10485760
std::string pressure_name(const Case& item) {
  std::string text = item.family;
  if (item.family == "order_speed") {
    text += "/order:" + item.part("order");
  } else {
    const std::string node = item.part("heap");
    text += "/mix:" + item.mix + "/heap:" + node.substr(node.rfind('/') + 1);
  }
  text += "/memory:" + item.part("memory") + "/bytes:" + std::to_string(item.bytes);
  return text + (item.part("trace") == "off" ? "/trace:off" : "");
}

// A heap of the kernel has one mix, its own.
std::vector<Case> pressure_cases(const std::string& family, const Profile& profile) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& mix, std::uint64_t bytes, Parts parts) {
    cases.push_back({.family = family,
                     .mix = mix,
                     .layout = {},
                     .bytes = bytes,
                     .timer = {},
                     .parts = std::move(parts)});
  };
  for (const Size& size : profile.bytes)
    for (const std::string& memory : profile.memory) {
      if (family == "order_speed") {
        for (const std::uint32_t order : profile.orders)
          add(kOwnMix, size.bytes, {{"order", std::to_string(order)}, {"memory", memory}});
        continue;
      }
      for (const std::string& heap : profile.heaps)
        for (const std::string& trace : profile.trace) {
          const Parts parts = {{"heap", heap}, {"memory", memory}, {"trace", trace}};
          if (heap != kHeapNode)
            add(kOwnMix, size.bytes, parts);
          else
            for (const std::string& mix : profile.mixes) add(mix, size.bytes, parts);
        }
    }
  return cases;
}

std::vector<Case> coherent_cases(const Profile& profile) {
  std::vector<Case> cases;
  for (const Size& size : profile.coherent_bytes)
    for (const std::string& attrs : profile.coherent_attrs)
      for (const char* op : {"alloc", "free"})
        cases.push_back({.family = "coherent",
                         .mix = {},
                         .layout = {},
                         .bytes = size.bytes,
                         .timer = {},
                         .parts = {{"attrs", attrs}, {"op", op}}});
  return cases;
}

// How old a pool is makes no difference to freeing.
std::vector<Case> pool_cases(const Profile& profile) {
  std::vector<Case> cases;
  for (const PoolBlock& block : profile.pool_blocks)
    for (const std::uint32_t pages : profile.pool_pages)
      for (const std::string& free : profile.pool_frees)
        for (const char* op : {"alloc", "free"})
          for (const std::string& state : profile.states) {
            Case item{.family = "dma_pool",
                      .mix = {},
                      .layout = {},
                      .cold = state == "cold",
                      .timer = {},
                      .parts = {{"block", std::to_string(block.bytes)},
                                {"align", std::to_string(block.align)},
                                {"pages", std::to_string(pages)},
                                {"free", free},
                                {"op", op}}};
            if (!item.cold || item.part("op") == "alloc") cases.push_back(std::move(item));
          }
  return cases;
}

// coherent/bytes:10485760/attrs:default/op:alloc
// dma_pool/block:64/align:64/pages:100/free:in_order/op:alloc[/state:cold]
std::string device_memory_name(const Case& item) {
  std::string text = item.family;
  if (item.bytes != 0) text += "/bytes:" + std::to_string(item.bytes);
  for (const Part& part : item.parts) text += "/" + part.key + ":" + part.value;
  return text + (item.cold ? "/state:cold" : "");
}

}  // namespace

bool has_domain(std::string_view family) {
  return family == "sync" || family == "coherent" || family == "dma_pool" ||
         (is_buffer_operation(family) && !family.starts_with("iommu_"));
}

bool is_buffer_operation(std::string_view family) {
  constexpr std::array<std::string_view, 11> kOperations = {
      "map_sgtable", "unmap_sgtable", "attach_map",  "map_page",  "map_single", "unmap_page",
      "iommu_map",   "iommu_map_sg",  "iommu_unmap", "iova_link", "iova_unlink"};
  return std::ranges::find(kOperations, family) != kOperations.end();
}

// A device has one domain at a time: a domain of its own is one run's alone.
bool has_threads(std::string_view family) {
  return is_buffer_operation(family) && !family.starts_with("iommu_");
}

std::string Case::name() const {
  if (!timer.empty()) return family + "/timer:" + timer;
  if (under_pressure()) return pressure_name(*this);
  if (device_memory()) return device_memory_name(*this);
  std::string text = family;
  if (maps_files(family))
    text += "/source:" + part("source");
  else
    text += "/mix:" + mix + "/layout:" + layout;
  text += "/bytes:" + std::to_string(bytes) + (cold ? "/state:cold" : "");
  for (const Part& item : parts)
    if (item.key != "source") text += "/" + item.key + ":" + item.value;
  return text;
}

bool Case::needs_module_heap() const {
  return !mix.empty() && (family != "alloc_series" || part("heap") == kHeapNode);
}

Group Case::group() const {
  if (is_buffer_operation(family) || device_memory() || family == "sync" || timer == "kernel")
    return Group::kModule;
  if (family == "vfio_map" || family == "vfio_unmap" || maps_files(family)) return Group::kVfio;
  if (family.starts_with("use_")) return Group::kDrive;
  return family == "import" ? Group::kBuffer : Group::kNone;
}

std::string Case::part(const std::string& key) const {
  const auto found = std::ranges::find(parts, key, &Part::key);
  return found == parts.end() ? std::string() : found->value;
}

std::uint64_t Case::number(const std::string& key) const {
  return parse_number(part(key)).value_or(0);
}

std::uint32_t Case::threads() const {
  return std::max(1u, static_cast<std::uint32_t>(number("threads")));
}

std::uint32_t Case::buffers() const {
  return std::max(threads(), static_cast<std::uint32_t>(number("frames")));
}

std::vector<Case> expand(const Profile& profile) {
  std::vector<Case> cases;
  for (const std::string& family : profile.families) {
    if (family == "sample_cost") {
      for (const char* timer : {"kernel", "user"})
        cases.push_back({.family = family, .mix = {}, .layout = {}, .timer = timer});
      continue;
    }
    std::optional<std::vector<Case>> own;  // of a family without mixes or with more than these
    if (family == "alloc_series" || family == "order_speed") own = pressure_cases(family, profile);
    if (family == "coherent") own = coherent_cases(profile);
    if (family == "dma_pool") own = pool_cases(profile);
    if (maps_files(family)) own = file_cases(family, profile);
    if (own) {
      for (Case& item : *own)
        for (const Parts& parts : with_settings({item.parts}, family, profile)) {
          item.parts = parts;
          cases.push_back(item);
        }
      continue;
    }
    for (const Shape& shape : shapes(family, profile))
      for (const std::string& mix : profile.mixes)
        for (const std::string& layout : profile.layouts)
          for (const Parts& parts :
               with_settings(variants(family, shape, profile), family, profile)) {
            Case item{.family = family,
                      .mix = mix,
                      .layout = layout,
                      .bytes = shape.bytes,
                      .timer = {},
                      .parts = parts};
            if (!has_states(family)) {
              cases.push_back(item);
              continue;
            }
            for (const std::string& state : profile.states) {
              item.cold = state == "cold";
              cases.push_back(item);
            }
          }
  }
  return cases;
}

std::vector<std::size_t> block_order(const std::vector<Case>& cases, std::uint64_t seed,
                                     std::uint32_t block) {
  std::mt19937_64 random(seed + block);
  std::array groups = {Group::kNone, Group::kBuffer, Group::kModule, Group::kVfio, Group::kDrive};
  if (block % 2 == 1) std::ranges::reverse(groups);
  std::vector<std::size_t> order;
  std::vector<std::string> settings;
  for (const Case& item : cases)
    if (std::ranges::find(settings, setting(item)) == settings.end())
      settings.push_back(setting(item));
  if (block % 2 == 1) std::ranges::reverse(settings);
  for (const Group group : groups)
    for (const std::string& wanted : settings) {
      std::vector<std::size_t> members;
      for (std::size_t i = 0; i < cases.size(); ++i)
        if (cases[i].group() == group && setting(cases[i]) == wanted) members.push_back(i);
      for (std::size_t left = members.size(); left > 1; --left)  // Fisher and Yates
        std::swap(members[left - 1], members[draw(random, left)]);
      order.insert(order.end(), members.begin(), members.end());
    }
  return order;
}

}  // namespace pagemix::bench
