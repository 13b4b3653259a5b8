// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pagemix::bench {

std::string Case::name() const {
  if (!timer.empty()) return family + "/timer:" + timer;
  return family + "/mix:" + mix + "/layout:" + layout + "/bytes:" + std::to_string(bytes) +
         (cold ? "/state:cold" : "");
}

Group Case::group() const {
  if (family == "map_sgtable" || family == "unmap_sgtable" || timer == "kernel")
    return Group::kModule;
  if (family == "vfio_map" || family == "vfio_unmap") return Group::kVfio;
  return Group::kNone;
}

std::vector<Case> expand(const Profile& profile) {
  std::vector<Case> cases;
  for (const std::string& family : profile.families) {
    if (family == "sample_cost") {
      for (const char* timer : {"kernel", "user"})
        cases.push_back({.family = family, .mix = {}, .layout = {}, .timer = timer});
      continue;
    }
    const bool has_states = family == "map_sgtable" || family == "unmap_sgtable";
    for (const Size& size : profile.bytes)
      for (const std::string& mix : profile.mixes)
        for (const std::string& layout : profile.layouts) {
          Case item{.family = family, .mix = mix, .layout = layout, .bytes = size.bytes, .timer = {}};
          if (!has_states) {
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

std::uint64_t draw(std::mt19937_64& random, std::uint64_t bound) {
  // Numbers below this limit fall evenly on 0..bound-1; the rest is drawn again.
  const std::uint64_t limit = random.max() - random.max() % bound;
  std::uint64_t number = random();
  while (number >= limit) number = random();
  return number % bound;
}

std::vector<std::size_t> block_order(const std::vector<Case>& cases, std::uint64_t seed,
                                     std::uint32_t block) {
  std::mt19937_64 random(seed + block);
  std::array groups = {Group::kNone, Group::kModule, Group::kVfio};
  if (block % 2 == 1) std::ranges::reverse(groups);
  std::vector<std::size_t> order;
  for (const Group group : groups) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].group() == group) members.push_back(i);
    for (std::size_t left = members.size(); left > 1; --left)  // Fisher and Yates
      std::swap(members[left - 1], members[draw(random, left)]);
    order.insert(order.end(), members.begin(), members.end());
  }
  return order;
}

}  // namespace pagemix::bench
