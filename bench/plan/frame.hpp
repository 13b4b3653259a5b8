// SPDX-License-Identifier: Apache-2.0
// Picture frames in memory: planes, pitches, sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagemix::bench {

/// Bytes between the starts of two lines are a multiple of it: what display
/// controllers, cameras and video decoders of common SoCs ask for.
inline constexpr std::uint32_t kPitchAlignment = 256;

/// A frame's buffer is whole chunks of every order up to 9 on 4 KiB pages.
inline constexpr std::uint64_t kFrameAlignment = std::uint64_t{2} << 20;

/// One plane of a frame; lines lie one after another, @p pitch bytes apart.
struct Plane {
  std::uint64_t offset = 0;      ///< of its first line in the buffer
  std::uint32_t pitch = 0;       ///< bytes from line to line
  std::uint32_t line_bytes = 0;  ///< bytes of a line that hold pixels
  std::uint32_t lines = 0;
  std::uint32_t column_bytes = 0;  ///< bytes of a line that a column of tiles holds
  std::uint32_t tile_lines = 0;    ///< lines of a tile

  std::uint64_t bytes() const { return std::uint64_t{pitch} * lines; }
};

/// Width and height of a tile in pixels, as GPUs and rotators read them.
inline constexpr std::uint32_t kTilePixels = 64;

struct Frame {
  std::string name;           ///< "3840x2160-nv12"
  std::vector<Plane> planes;  ///< ascending offsets
  std::uint64_t bytes = 0;    ///< of the pixels: end of the last plane

  /// Size of a buffer for it: bytes rounded up to kFrameAlignment.
  std::uint64_t buffer_bytes() const {
    return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
  }
};

/// Names that parse_frame() understands, for messages.
inline constexpr const char* kFrameNames =
    "<width>x<height>-nv12 or -rgba, such as 3840x2160-nv12; "
    "even numbers from 64 to 16384";

/// nv12: a plane of luma, one byte a pixel, and one of chroma, two bytes for
/// each 2x2 pixels. rgba: one plane, four bytes a pixel. nullopt for any other name.
std::optional<Frame> parse_frame(std::string_view name);

}  // namespace pagemix::bench
