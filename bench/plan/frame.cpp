// SPDX-License-Identifier: Apache-2.0
#include "plan/frame.hpp"

#include "base/text.hpp"

namespace pagemix::bench {
namespace {

constexpr std::uint64_t kMinPixels = 64;
constexpr std::uint64_t kMaxPixels = 16384;

std::uint32_t pitch_of(std::uint32_t line_bytes) {
  return (line_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

std::optional<std::uint32_t> side(std::string_view text) {
  const auto pixels = parse_number(text);
  if (!pixels || *pixels < kMinPixels || *pixels > kMaxPixels || *pixels % 2 != 0)
    return std::nullopt;
  return static_cast<std::uint32_t>(*pixels);
}

// Appends a plane behind those that are there.
void add_plane(Frame& frame, std::uint32_t line_bytes, std::uint32_t lines,
               std::uint32_t column_bytes, std::uint32_t tile_lines) {
  const Plane plane{.offset = frame.bytes,
                    .pitch = pitch_of(line_bytes),
                    .line_bytes = line_bytes,
                    .lines = lines,
                    .column_bytes = column_bytes,
                    .tile_lines = tile_lines};
  frame.bytes += plane.bytes();
  frame.planes.push_back(plane);
}

}  // namespace

std::optional<Frame> parse_frame(std::string_view name) {
  const std::size_t times = name.find('x');
  const std::size_t dash = name.find('-');
  if (times == std::string_view::npos || dash == std::string_view::npos || times > dash)
    return std::nullopt;
  const auto width = side(name.substr(0, times));
  const auto height = side(name.substr(times + 1, dash - times - 1));
  const std::string_view format = name.substr(dash + 1);
  if (!width || !height) return std::nullopt;
  Frame frame{.name = std::string(name), .planes = {}, .bytes = 0};
  if (format == "nv12") {
    add_plane(frame, *width, *height, kTilePixels, kTilePixels);
    // A tile of 64x64 pixels has 32x32 pairs of chroma: 32 lines of 64 bytes.
    add_plane(frame, *width, *height / 2, kTilePixels, kTilePixels / 2);
  } else if (format == "rgba") {
    add_plane(frame, 4 * *width, *height, 4 * kTilePixels, kTilePixels);
  } else {
    return std::nullopt;
  }
  return frame;
}

}  // namespace pagemix::bench
