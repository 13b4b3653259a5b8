// SPDX-License-Identifier: Apache-2.0
// What a benchmark family is: name, help, keys, axes, how it is made. Each file of
// families/ registers its own; profile, cases, list, help, run and table ask here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/cases.hpp"
#include "plan/profile.hpp"

namespace pagemix::bench {

class Family;     // families/family.hpp
struct Services;  // the same

/// What varies in a family: the parts of each value, given those of the axes before it
/// (a window is no larger than the buffer). One empty entry: nothing varies here; no
/// entry: the case is left out.
using Axis = std::function<std::vector<Parts>(const Profile& profile, const Case& so_far)>;

using FamilyFactory = std::unique_ptr<Family> (*)(const std::string& name,
                                                  const Services& services);

struct FamilyDescriptor {
  const char* name;
  const char* help;                          ///< one line: what a sample is
  Group group = Group::kNone;                ///< what a case needs
  std::vector<Axis> axes;                    ///< outermost loop first: the order of cases
  std::vector<std::string> parts;            ///< keys of the axes' parts in the order of the name
  std::vector<const ProfileKey*> keys = {};  ///< beside the common ones
  FamilyFactory make = nullptr;
  bool needs_heap = false;                   ///< of pagemix.ko, though its cases name no mix
  Group (*group_of)(const Case&) = nullptr;  ///< where the cases of the family differ in it
};

/// Every family, by name.
std::vector<const FamilyDescriptor*> families();
std::vector<std::string> family_names();

/// nullptr for a name that is no family.
const FamilyDescriptor* find_family(const std::string& name);

/// A static object of it in a family's file makes the family known.
struct RegisterFamilies {
  explicit RegisterFamilies(std::vector<FamilyDescriptor> descriptors);
};

/// The factory of a family class, made from the services or from name and services.
template <typename T>
std::unique_ptr<Family> make_family(const std::string& name, const Services& services) {
  if constexpr (std::is_constructible_v<T, std::string, Services>)
    return std::make_unique<T>(name, services);
  else
    return std::make_unique<T>(services);
}

/// Axes that families share.
namespace axis {

std::vector<Parts> mix(const Profile& profile, const Case& so_far);
std::vector<Parts> layout(const Profile& profile, const Case& so_far);
std::vector<Parts> bytes(const Profile& profile, const Case& so_far);
/// warm is not named.
std::vector<Parts> state(const Profile& profile, const Case& so_far);
/// One thread is not named.
std::vector<Parts> threads(const Profile& profile, const Case& so_far);
/// Modes of the domain of the device bound to the module; none unless the profile names some.
std::vector<Parts> domain(const Profile& profile, const Case& so_far);
/// Backends of VFIO; none unless the profile names some.
std::vector<Parts> backend(const Profile& profile, const Case& so_far);

/// The same values always.
Axis words(const std::string& key, const std::vector<std::string>& values);

inline std::string part_value(const std::string& value) { return value; }
inline std::string part_value(const Size& value) { return std::to_string(value.bytes); }
inline std::string part_value(std::uint32_t value) { return std::to_string(value); }

/// The values of a family's own key, which outlives the axis.
template <auto Parse>
Axis values(const std::string& part, const Key<Parse>& key) {
  return [part, &key](const Profile& profile, const Case&) {
    std::vector<Parts> found;
    for (const auto& value : key.of(profile)) found.push_back({{part, part_value(value)}});
    return found;
  };
}

}  // namespace axis

}  // namespace pagemix::bench
