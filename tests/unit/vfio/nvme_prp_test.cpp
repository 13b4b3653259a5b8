// SPDX-License-Identifier: Apache-2.0
// PRPs are read back the way a controller reads them (NVMe base specification
// 2.0, section 4.1.1) and must give the transfer, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "pagemix/vfio/nvme/prp.hpp"

namespace pagemix::vfio::nvme {
namespace {

constexpr std::uint64_t kListIova = 0x7f0000000000;
constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeef;

/// What a controller makes of PRP1, PRP2 and memory: where each page's bytes go.
class Reader {
 public:
  Reader(std::uint64_t page, const std::vector<std::uint64_t>& list) : page_(page), list_(list) {}

  /// Walks `bytes`; false if an entry is not usable or the result is not the
  /// contiguous stretch from `iova`.
  testing::AssertionResult reads(const DataPointer& data, std::uint64_t iova, std::uint64_t bytes) {
    std::uint64_t expected = iova;
    if (data.prp1 != iova) return testing::AssertionFailure() << "PRP1 " << data.prp1;
    std::uint64_t left = bytes - std::min(bytes, page_ - iova % page_);
    expected += bytes - left;
    if (left == 0)
      return data.prp2 == 0 ? testing::AssertionSuccess()
                            : testing::AssertionFailure() << "PRP2 of one page";
    if (left <= page_)
      return data.prp2 == expected ? testing::AssertionSuccess()
                                   : testing::AssertionFailure() << "PRP2 " << data.prp2;
    std::uint64_t at = data.prp2;
    while (left > 0) {
      std::uint64_t entry = load(at);
      const bool last_of_page = (at + 8) % page_ == 0;
      if (last_of_page && left > page_) {  // a pointer to the next list page
        if (entry % page_ != 0) return testing::AssertionFailure() << "list at " << entry;
        at = entry;
        entry = load(at);
      }
      if (entry != expected)
        return testing::AssertionFailure() << "entry " << entry << " instead of " << expected;
      const std::uint64_t here = std::min(left, page_);
      expected += here;
      left -= here;
      at += 8;
    }
    return testing::AssertionSuccess();
  }

 private:
  std::uint64_t load(std::uint64_t address) const {
    const std::uint64_t index = (address - kListIova) / 8;
    return address < kListIova || index >= list_.size() ? kPoison : list_[index];
  }
  std::uint64_t page_;
  const std::vector<std::uint64_t>& list_;
};

class PrpTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PrpTest, EveryLengthAndOffsetIsReadBack) {
  const PrpGeometry geometry{GetParam()};
  const std::uint64_t page = geometry.page_bytes;
  const std::uint64_t per_page = page / 8;
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t pages :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, per_page - 1, per_page, per_page + 1,
        per_page + 2, 2 * per_page - 2, 2 * per_page - 1, 2 * per_page, 2 * per_page + 1,
        3 * per_page - 3, 3 * per_page - 2, 3 * per_page - 1, 4 * per_page})
    for (const std::uint64_t bytes : {pages * page - 512, pages * page, pages * page + 512})
      lengths.push_back(bytes);
  for (const std::uint64_t bytes : lengths) {
    const std::uint64_t room = geometry.list_bytes(bytes);
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{512}, page - 512, page - 4}) {
      std::vector<std::uint64_t> list(room / 8 + 1, kPoison);
      const std::uint64_t iova = (std::uint64_t{1} << 40) + offset;
      const DataPointer data =
          build_prps(geometry, iova, bytes, {list.data(), room / 8}, kListIova);
      EXPECT_EQ(list.back(), kPoison) << "written behind list_bytes()";
      EXPECT_TRUE(Reader(page, list).reads(data, iova, bytes))
          << bytes << " bytes at offset " << offset;
    }
  }
}

TEST_P(PrpTest, ListsOfAQueueDoNotCrossPages) {
  const PrpGeometry geometry{GetParam()};
  for (std::uint64_t bytes = 512; bytes < 8 * geometry.page_bytes * geometry.page_bytes / 8;
       bytes = bytes * 3 / 2) {
    const std::uint64_t room = geometry.list_bytes(bytes);
    EXPECT_TRUE(room >= geometry.page_bytes ? room % geometry.page_bytes == 0
                                            : geometry.page_bytes % room == 0)
        << bytes << " bytes: " << room;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, PrpTest, testing::Values(4096, 16384, 65536));

TEST(Prp, KnownAnswers) {
  const PrpGeometry geometry{4096};
  EXPECT_EQ(geometry.pages(0, 4096), 1U);
  EXPECT_EQ(geometry.pages(4092, 8), 2U);
  EXPECT_EQ(geometry.pages(4, 4096), 2U);
  // 512 KiB (MDTS 7) at an offset: 129 pages, 128 entries.
  EXPECT_EQ(geometry.list_bytes(512 << 10), 1024U);
  // 2 MiB: 513 pages, 512 entries fit one list page exactly.
  EXPECT_EQ(geometry.list_bytes(2 << 20), 4096U);
  EXPECT_EQ(geometry.list_bytes((2 << 20) + 4096), 8192U);
}

}  // namespace
}  // namespace pagemix::vfio::nvme
