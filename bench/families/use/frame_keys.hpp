// SPDX-License-Identifier: Apache-2.0
// Keys and parts of the families that move picture frames.
#pragma once

#include <vector>

#include "plan/family_table.hpp"
#include "plan/frame.hpp"

namespace pagemix::bench {

/// Frames of a key's value, one or more.
std::vector<Frame> frames_of(const Value& value);

/// Columns of tiles that are read of a frame; 0: all.
std::uint32_t columns_of(const Value& value);
inline constexpr Key<columns_of> kColumns{
    "columns", "0", "columns of tiles that are read of a frame, 0..256; 0: all"};

/// A frame and the bytes of a buffer for it.
Parts frame_parts(const Frame& frame);

/// All columns are not named.
std::vector<Parts> columns_axis(const Profile& profile, const Case& so_far);

}  // namespace pagemix::bench
