// SPDX-License-Identifier: Apache-2.0
// States of memory, for the families that allocate under pressure.
#pragma once

#include <vector>

#include "families/family.hpp"
#include "pressure/state.hpp"

namespace pagemix::bench {

/// The states that the profile names: memory:<state>.
std::vector<Parts> memory_axis(const Profile& profile, const Case& so_far);

/// A family's own keys and those that describe the states.
std::vector<const ProfileKey*> with_memory_keys(std::vector<const ProfileKey*> own);

/// The state of memory that a case wants; a seed a block.
StateSpec state_spec(const Services& services, const Case& item, std::uint32_t block);

}  // namespace pagemix::bench
