// SPDX-License-Identifier: Apache-2.0
#include "plan/cases.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/random.hpp"
#include "base/text.hpp"
#include "plan/family_table.hpp"

namespace pagemix::bench {
namespace {

// By which the device must be bound anew.
std::string setting(const Case& item) { return item.domain() + item.backend(); }

// Parts come in the order of the axes; names have an order of their own.
void sort_parts(Case& item, const FamilyDescriptor& family) {
  const auto place = [&](const Part& part) {
    const auto found = std::ranges::find(family.parts, part.key);
    if (found == family.parts.end())
      throw std::logic_error(item.family + ": no place in the name for part " + part.key);
    return found - family.parts.begin();
  };
  std::ranges::stable_sort(item.parts, {}, place);
}

void expand_family(const FamilyDescriptor& family, const Profile& profile,
                   std::vector<Case>& cases) {
  std::vector<Case> found = {{.family = family.name}};
  for (const Axis& axis : family.axes) {
    std::vector<Case> longer;
    for (const Case& item : found)
      for (const Parts& parts : axis(profile, item)) {
        longer.push_back(item);
        longer.back().parts.insert(longer.back().parts.end(), parts.begin(), parts.end());
      }
    found = std::move(longer);
  }
  for (Case& item : found) {
    sort_parts(item, family);
    cases.push_back(std::move(item));
  }
}

}  // namespace

std::string Case::name() const {
  std::string text = family;
  for (const Part& part : parts)
    if (!part.text.empty()) text.append("/").append(part.key).append(":").append(part.text);
  return text;
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

bool Case::needs_module_heap() const {
  const FamilyDescriptor* descriptor = find_family(family);
  if (descriptor != nullptr && descriptor->needs_heap) return true;
  return !mix().empty() && mix() != kOwnMix;
}

Group Case::group() const {
  const FamilyDescriptor* descriptor = find_family(family);
  if (descriptor == nullptr) return Group::kNone;
  return descriptor->group_of != nullptr ? descriptor->group_of(*this) : descriptor->group;
}

std::vector<Case> expand(const Profile& profile) {
  std::vector<Case> cases;
  for (const std::string& name : profile.families)
    expand_family(*find_family(name), profile, cases);
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
