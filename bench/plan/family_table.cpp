// SPDX-License-Identifier: Apache-2.0
#include "plan/family_table.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace pagemix::bench {
namespace {

// Made before the first static object registers; descriptors keep their place.
std::deque<FamilyDescriptor>& table() {
  static std::deque<FamilyDescriptor> all;
  return all;
}

std::vector<Parts> one_each(const char* key, const std::vector<std::string>& values) {
  std::vector<Parts> found;
  for (const std::string& value : values) found.push_back({{key, value}});
  return found;
}

std::vector<Parts> if_named(const char* key, const std::vector<std::string>& values) {
  return values.empty() ? std::vector<Parts>{{}} : one_each(key, values);
}

}  // namespace

RegisterFamilies::RegisterFamilies(std::vector<FamilyDescriptor> descriptors) {
  for (FamilyDescriptor& descriptor : descriptors) {
    if (find_family(descriptor.name) != nullptr)
      throw std::logic_error(std::string("two families ") + descriptor.name);
    table().push_back(std::move(descriptor));
  }
}

std::vector<const FamilyDescriptor*> families() {
  std::vector<const FamilyDescriptor*> all;
  for (const FamilyDescriptor& descriptor : table()) all.push_back(&descriptor);
  std::ranges::sort(all, {}, [](const FamilyDescriptor* one) { return std::string(one->name); });
  return all;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const FamilyDescriptor* family : families()) names.emplace_back(family->name);
  return names;
}

const FamilyDescriptor* find_family(const std::string& name) {
  const auto found = std::ranges::find(table(), name, &FamilyDescriptor::name);
  return found == table().end() ? nullptr : &*found;
}

namespace axis {

std::vector<Parts> mix(const Profile& profile, const Case&) {
  return one_each("mix", profile.mixes);
}

std::vector<Parts> layout(const Profile& profile, const Case&) {
  return one_each("layout", profile.layouts);
}

std::vector<Parts> bytes(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const Size& size : profile.bytes) found.push_back({{"bytes", part_value(size)}});
  return found;
}

std::vector<Parts> state(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const std::string& state : profile.states)
    found.push_back({{"state", state, state == "warm" ? "" : state}});
  return found;
}

std::vector<Parts> threads(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const std::uint32_t threads : profile.threads) {
    const std::string text = std::to_string(threads);
    found.push_back({{"threads", text, threads == 1 ? "" : text}});
  }
  return found;
}

std::vector<Parts> domain(const Profile& profile, const Case&) {
  return if_named("domain", profile.domains);
}

std::vector<Parts> backend(const Profile& profile, const Case&) {
  return if_named("backend", profile.backends);
}

Axis words(const std::string& key, const std::vector<std::string>& values) {
  return [key, values](const Profile&, const Case&) { return one_each(key.c_str(), values); };
}

}  // namespace axis

}  // namespace pagemix::bench
