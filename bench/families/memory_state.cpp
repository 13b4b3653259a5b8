// SPDX-License-Identifier: Apache-2.0
#include "families/memory_state.hpp"

namespace pagemix::bench {
namespace {

std::vector<std::string> memory_of(const Value& value) {
  return words(value, memory_state_names());
}

double unusable_of(const Value& value) {
  return static_cast<double>(number(value, 10, 100)) / 100.0;
}

std::uint32_t limit_of(const Value& value) {
  return static_cast<std::uint32_t>(number(value, 1, 86400));
}

std::string source_of(const Value& value) { return value.text == "auto" ? "" : value.text; }

constexpr Key<memory_of> kMemory{
    "memory", "fresh",
    "alloc_series, order_speed: states of memory: fresh, low, fragmented, pinned, aged"};
constexpr Key<unusable_of> kUnusable{
    "unusable", "100", "fragmented, pinned: percent of free memory in blocks below 64K, 10..100"};
constexpr Key<limit_of> kLimit{"state_limit", "300",
                               "seconds that making a state of memory may take, 1..86400"};
constexpr Key<source_of> kSource{
    "cache_source", "auto",
    "low, aged: folder on a disk, or block device to read, for the page cache"};

}  // namespace

std::vector<Parts> memory_axis(const Profile& profile, const Case& so_far) {
  return axis::values("memory", kMemory)(profile, so_far);
}

std::vector<const ProfileKey*> with_memory_keys(std::vector<const ProfileKey*> own) {
  own.insert(own.end(), {&kMemory, &kUnusable, &kLimit, &kSource});
  return own;
}

StateSpec state_spec(const Services& services, const Case& item, std::uint32_t block) {
  return {.state = item.part("memory"),
          .seed = services.profile.seed + block,
          .heap = item.part("heap").empty() ? kHeapNode : item.part("heap"),
          .unusable = kUnusable.of(services.profile),
          .limit = std::chrono::seconds(kLimit.of(services.profile)),
          .cache_source = kSource.of(services.profile)};
}

}  // namespace pagemix::bench
