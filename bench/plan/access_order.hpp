// SPDX-License-Identifier: Apache-2.0
// The orders in which a device touches a buffer. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/frame.hpp"

namespace pagemix::bench {

/// One transfer: [offset, offset + bytes) of the buffer.
struct Access {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;

  friend bool operator==(const Access&, const Access&) = default;
};

/// What a device can transfer: whole blocks of @p block_bytes, at most
/// @p max_bytes at once. A block is a power of two from 512 bytes to a page;
/// max_bytes is a multiple of it.
struct TransferLimits {
  std::uint32_t block_bytes = 512;
  std::uint32_t max_bytes = 512;
};

/// [0, bytes) front to back in transfers of max_bytes; the last one may be
/// shorter. @p bytes is a multiple of block_bytes.
std::vector<Access> sequential_order(std::uint64_t bytes, const TransferLimits& limits);

/// One block at the start of each page of [0, window), every page once, in an
/// order shuffled by @p seed. With @p at_most not 0 only the first @p at_most
/// of them: distinct random pages of the window.
std::vector<Access> random_pages(std::uint64_t window, std::uint64_t page_bytes,
                                 const TransferLimits& limits, std::uint64_t seed,
                                 std::uint64_t at_most = 0);

/// A frame as a camera or decoder writes it: planes one after another, each
/// from its first line to its last in the largest transfers.
std::vector<Access> raster_order(const Frame& frame, const TransferLimits& limits);

/// A frame as a 90 degree rotation reads it: columns of 64x64-pixel tiles from
/// left to right, each column from top to bottom, of each tile the lines of its
/// luma and then of its chroma. A line of a tile is shorter than a block, so
/// each access is the block that holds it: as many accesses to the same pages,
/// more bytes (a line of a tile never crosses a block of 512 bytes or more).
/// @p columns not 0 takes only so many columns, spread evenly, so that long
/// measurements can be cut.
std::vector<Access> column_order(const Frame& frame, const TransferLimits& limits,
                                 std::uint32_t columns = 0);

/// Columns of tiles that the frame has; the last may be partly outside.
std::uint32_t tile_columns(const Frame& frame);

/// Bytes of all accesses.
std::uint64_t total_bytes(const std::vector<Access>& accesses);

}  // namespace pagemix::bench
