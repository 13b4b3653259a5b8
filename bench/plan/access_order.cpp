// SPDX-License-Identifier: Apache-2.0
#include "plan/access_order.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/random.hpp"

namespace pagemix::bench {
namespace {

void append_sequential(std::vector<Access>& accesses, std::uint64_t begin, std::uint64_t end,
                       const TransferLimits& limits) {
  for (std::uint64_t at = begin; at < end; at += limits.max_bytes)
    accesses.push_back(
        {at, static_cast<std::uint32_t>(std::min<std::uint64_t>(limits.max_bytes, end - at))});
}

std::uint64_t block_down(std::uint64_t offset, std::uint64_t block) {
  return offset / block * block;
}

std::uint64_t block_up(std::uint64_t offset, std::uint64_t block) {
  return block_down(offset + block - 1, block);
}

// Lines of one tile of a plane; tiles at the lower edge have fewer, none below.
void append_tile(std::vector<Access>& accesses, const Plane& plane, std::uint32_t column,
                 std::uint32_t row, const TransferLimits& limits) {
  const std::uint32_t first = row * plane.tile_lines;
  const std::uint32_t end = std::min(plane.lines, first + plane.tile_lines);
  const std::uint64_t left = std::uint64_t{column} * plane.column_bytes;
  for (std::uint32_t line = first; line < end; ++line) {
    const std::uint64_t offset = plane.offset + std::uint64_t{line} * plane.pitch + left;
    accesses.push_back({block_down(offset, limits.block_bytes), limits.block_bytes});
  }
}

std::uint32_t tile_rows(const Frame& frame) {
  const Plane& plane = frame.planes.front();
  return (plane.lines + plane.tile_lines - 1) / plane.tile_lines;
}

}  // namespace

std::vector<Access> sequential_order(std::uint64_t bytes, const TransferLimits& limits) {
  std::vector<Access> accesses;
  append_sequential(accesses, 0, bytes, limits);
  return accesses;
}

std::vector<Access> random_pages(std::uint64_t window, std::uint64_t page_bytes,
                                 const TransferLimits& limits, std::uint64_t seed,
                                 std::uint64_t at_most) {
  const std::uint64_t pages = window / page_bytes;
  const std::uint64_t wanted = at_most == 0 ? pages : std::min(pages, at_most);
  std::vector<std::uint64_t> numbers(pages);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  std::mt19937_64 random(seed);
  std::vector<Access> accesses;
  accesses.reserve(wanted);
  for (std::uint64_t i = 0; i < wanted; ++i) {  // Fisher and Yates, from the front
    std::swap(numbers[i], numbers[i + draw(random, pages - i)]);
    accesses.push_back({numbers[i] * page_bytes, limits.block_bytes});
  }
  return accesses;
}

std::vector<Access> raster_order(const Frame& frame, const TransferLimits& limits) {
  std::vector<Access> accesses;
  for (const Plane& plane : frame.planes) {
    // Planes need not begin at a block; the block they share is written twice.
    append_sequential(accesses, block_down(plane.offset, limits.block_bytes),
                      block_up(plane.offset + plane.bytes(), limits.block_bytes), limits);
  }
  return accesses;
}

std::uint32_t tile_columns(const Frame& frame) {
  const Plane& plane = frame.planes.front();
  return (plane.line_bytes + plane.column_bytes - 1) / plane.column_bytes;
}

std::vector<Access> column_order(const Frame& frame, const TransferLimits& limits,
                                 std::uint32_t columns) {
  const std::uint32_t all = tile_columns(frame);
  const std::uint32_t taken = columns == 0 ? all : std::min(columns, all);
  std::vector<Access> accesses;
  for (std::uint32_t i = 0; i < taken; ++i) {
    const auto column = static_cast<std::uint32_t>(std::uint64_t{i} * all / taken);
    for (std::uint32_t row = 0; row < tile_rows(frame); ++row)
      for (const Plane& plane : frame.planes) append_tile(accesses, plane, column, row, limits);
  }
  return accesses;
}

std::uint64_t total_bytes(const std::vector<Access>& accesses) {
  std::uint64_t bytes = 0;
  for (const Access& access : accesses) bytes += access.bytes;
  return bytes;
}

}  // namespace pagemix::bench
