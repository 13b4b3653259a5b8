// SPDX-License-Identifier: Apache-2.0
// Frames as their formats define them, and the orders in which a device goes
// through a buffer: every byte, page or tile line exactly as often as it should.
#include "plan/access_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace pagemix::bench {
namespace {

constexpr TransferLimits kSmall{.block_bytes = 512, .max_bytes = 131072};

TEST(Frame, Nv12HasALumaAndAHalfAsHighChromaPlane) {
  const Frame frame = parse_frame("3840x2160-nv12").value();
  ASSERT_EQ(frame.planes.size(), 2u);
  EXPECT_EQ(frame.planes[0].pitch, 3840u);  // a multiple of 256 as it is
  EXPECT_EQ(frame.planes[0].lines, 2160u);
  EXPECT_EQ(frame.planes[1].offset, 3840u * 2160);
  EXPECT_EQ(frame.planes[1].pitch, 3840u);
  EXPECT_EQ(frame.planes[1].lines, 1080u);
  EXPECT_EQ(frame.bytes, 3840u * 2160 * 3 / 2);
  EXPECT_EQ(frame.buffer_bytes(), 12582912u);  // six times 2 MiB
}

TEST(Frame, PitchesArePadded) {
  const Frame frame = parse_frame("1920x1080-nv12").value();
  EXPECT_EQ(frame.planes[0].line_bytes, 1920u);
  EXPECT_EQ(frame.planes[0].pitch, 2048u);
  EXPECT_EQ(frame.bytes, 2048u * 1080 * 3 / 2);
}

TEST(Frame, RgbaHasFourBytesAPixel) {
  const Frame frame = parse_frame("1920x1080-rgba").value();
  ASSERT_EQ(frame.planes.size(), 1u);
  EXPECT_EQ(frame.planes[0].pitch, 7680u);
  EXPECT_EQ(frame.bytes, 1920u * 1080 * 4);
}

TEST(Frame, OtherNamesAreRefused) {
  for (const char* name : {"", "1920x1080", "1920-nv12", "1920x1080-yuyv", "1921x1080-nv12",
                           "1920x1081-nv12", "62x64-rgba", "16386x64-rgba", "x1080-nv12",
                           "1920x-nv12", "-1920x1080-nv12", "1920x1080-nv12 ", "nv12-1920x1080"})
    EXPECT_FALSE(parse_frame(name)) << name;
  EXPECT_TRUE(parse_frame("64x64-nv12"));
  EXPECT_TRUE(parse_frame("16384x16384-rgba"));
}

TEST(AccessOrder, SequentialCoversEveryByteOnceInOrder) {
  const auto accesses = sequential_order(300 * 1024, kSmall);
  ASSERT_EQ(accesses.size(), 3u);
  EXPECT_EQ(accesses[0], (Access{0, 131072}));
  EXPECT_EQ(accesses[1], (Access{131072, 131072}));
  EXPECT_EQ(accesses[2], (Access{262144, 45056}));
}

TEST(AccessOrder, RandomVisitsEveryPageOfTheWindowOnce) {
  const auto accesses = random_pages(512 * 4096, 4096, kSmall, 1);
  ASSERT_EQ(accesses.size(), 512u);
  std::set<std::uint64_t> offsets;
  for (const Access& access : accesses) {
    EXPECT_EQ(access.bytes, 512u);
    EXPECT_EQ(access.offset % 4096, 0u);
    EXPECT_LT(access.offset, 512u * 4096);
    offsets.insert(access.offset);
  }
  EXPECT_EQ(offsets.size(), 512u);
  EXPECT_FALSE(std::ranges::is_sorted(accesses, {}, &Access::offset));
}

TEST(AccessOrder, TheSeedDecidesTheRandomOrder) {
  EXPECT_EQ(random_pages(1 << 20, 4096, kSmall, 3), random_pages(1 << 20, 4096, kSmall, 3));
  EXPECT_NE(random_pages(1 << 20, 4096, kSmall, 3), random_pages(1 << 20, 4096, kSmall, 4));
}

TEST(AccessOrder, ACutRandomOrderIsTheBeginningOfTheWholeOne) {
  const auto whole = random_pages(1 << 20, 4096, kSmall, 5);
  auto cut = random_pages(1 << 20, 4096, kSmall, 5, 10);
  ASSERT_EQ(cut.size(), 10u);
  EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin()));
  EXPECT_EQ(random_pages(16384, 4096, kSmall, 5, 10).size(), 4u);  // there are only four pages
}

TEST(AccessOrder, EachPageComesFirstAboutEquallyOften) {
  std::map<std::uint64_t, int> first;
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++first[random_pages(16384, 4096, kSmall, seed)[0].offset];
  ASSERT_EQ(first.size(), 4u);
  for (const auto& [offset, times] : first) EXPECT_NEAR(times, 1000, 150) << offset;
}

TEST(AccessOrder, RasterCoversBothPlanesWithPadding) {
  const Frame frame = parse_frame("1920x1080-nv12").value();
  const auto accesses = raster_order(frame, kSmall);
  EXPECT_EQ(total_bytes(accesses), frame.bytes);
  std::uint64_t end = 0;
  for (const Access& access : accesses) {
    EXPECT_EQ(access.offset, end);
    EXPECT_LE(access.bytes, kSmall.max_bytes);
    end = access.offset + access.bytes;
  }
  EXPECT_EQ(end, frame.bytes);
}

TEST(AccessOrder, RasterStaysInTheBufferWithLargeBlocks) {
  for (const char* name :
       {"1920x1080-nv12", "1920x1080-rgba", "3840x2160-nv12", "3840x2160-rgba"}) {
    const Frame frame = parse_frame(name).value();
    for (const Access& access : raster_order(frame, {.block_bytes = 4096, .max_bytes = 524288})) {
      EXPECT_EQ(access.offset % 4096, 0u);
      EXPECT_EQ(access.bytes % 4096, 0u);
      EXPECT_LE(access.offset + access.bytes, frame.buffer_bytes());
    }
  }
}

TEST(AccessOrder, ColumnsReadEveryTileLineOnce) {
  const Frame frame = parse_frame("3840x2160-nv12").value();
  EXPECT_EQ(tile_columns(frame), 60u);
  const auto accesses = column_order(frame, kSmall);
  EXPECT_EQ(accesses.size(), 60u * (2160 + 1080));
  // Eight columns of 64 bytes share a block of 512.
  std::map<std::uint64_t, int> touched;
  for (const Access& access : accesses) ++touched[access.offset];
  EXPECT_EQ(touched.size(), frame.bytes / 512);
  // 3840 bytes are seven and a half blocks, so lines share a block at odd lines' ends.
  EXPECT_TRUE(std::ranges::all_of(touched, [](const auto& entry) { return entry.second == 8; }));
}

TEST(AccessOrder, AColumnGoesDownTileByTile) {
  const Frame frame = parse_frame("1920x1080-nv12").value();
  const auto accesses = column_order(frame, kSmall);
  for (std::uint64_t line = 0; line < 64; ++line) EXPECT_EQ(accesses[line].offset, line * 2048);
  for (std::uint64_t line = 0; line < 32; ++line)  // then the tile's chroma
    EXPECT_EQ(accesses[64 + line].offset, (1080 + line) * 2048);
  EXPECT_EQ(accesses[96].offset, 64u * 2048);  // the tile below
  // 1080 lines are 16 tiles and 56 lines; the second column begins behind 1620.
  EXPECT_EQ(accesses[1620].offset, 0u);  // its 64 bytes are in the first block as well
  EXPECT_EQ(accesses[8 * 1620].offset, 512u);
}

TEST(AccessOrder, RgbaColumnsAreHalfABlockWide) {
  const Frame frame = parse_frame("1920x1080-rgba").value();
  const auto accesses = column_order(frame, kSmall);
  EXPECT_EQ(accesses.size(), 30u * 1080);
  EXPECT_EQ(accesses[1].offset - accesses[0].offset, 7680u);
  EXPECT_EQ(accesses[2 * 1080].offset, 512u);
}

TEST(AccessOrder, FewerColumnsAreSpreadEvenly) {
  const Frame frame = parse_frame("3840x2160-rgba").value();
  const auto accesses = column_order(frame, kSmall, 4);
  ASSERT_EQ(accesses.size(), 4u * 2160);
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(accesses[i * 2160].offset, i * 15 * 256 / 512 * 512);
  EXPECT_EQ(column_order(frame, kSmall, 1000), column_order(frame, kSmall));
}

TEST(AccessOrder, NoTileLineCrossesItsBlock) {
  for (const char* name :
       {"1920x1080-nv12", "1920x1080-rgba", "3840x2160-nv12", "3840x2160-rgba"}) {
    const Frame frame = parse_frame(name).value();  // outlives the loop over its planes
    for (const Plane& plane : frame.planes)
      for (std::uint64_t left = 0; left < plane.line_bytes; left += plane.column_bytes)
        for (std::uint64_t line = 0; line < plane.lines; ++line) {
          const std::uint64_t begin = plane.offset + line * plane.pitch + left;
          ASSERT_EQ(begin / 512, (begin + plane.column_bytes - 1) / 512) << name;
        }
  }
}

}  // namespace
}  // namespace pagemix::bench
