// SPDX-License-Identifier: Apache-2.0
// Mapping and the throwing calls of AddressSpace, over an address space that
// keeps type1's rules in a table.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "pagemix/vfio/vfio.hpp"

namespace pagemix::vfio::iommu {
namespace {

class TableSpace final : public AddressSpace {
 public:
  int try_map(std::span<const std::byte> memory, std::uint64_t iova, Access) noexcept override {
    if (fail_map != 0) return -fail_map;
    mapped[iova] = memory.size();
    return 0;
  }
  UnmapResult try_unmap(std::uint64_t iova, std::uint64_t bytes) noexcept override {
    const auto found = mapped.find(iova);
    if (found == mapped.end()) return {-ENOENT, 0};
    const std::uint64_t size = found->second;
    mapped.erase(found);
    return {size == bytes ? 0 : -EMSGSIZE, size};
  }
  std::span<const IovaRange> iova_ranges() const noexcept override { return ranges; }
  std::uint64_t page_sizes() const noexcept override { return 0x40201000; }
  std::optional<std::uint32_t> available_mappings() const override { return std::nullopt; }
  std::string name() const override { return "table"; }
  UniqueFd open_device(const pci::DeviceInfo&) override { return {}; }

  std::map<std::uint64_t, std::uint64_t> mapped;
  std::vector<IovaRange> ranges{{0, 0x7ffffff}};
  int fail_map = 0;

 private:
  std::string explain_map(int, std::span<const std::byte>, std::uint64_t, Access) const override {
    return "told by the table";
  }
  std::string explain_unmap(const UnmapResult& result, std::uint64_t,
                            std::uint64_t) const override {
    return std::to_string(result.bytes) + " bytes instead";
  }
};

struct MappingTest : testing::Test {
  TableSpace space;
  IovaAllocator allocator{space.ranges, 4096};
  std::vector<std::byte> memory = std::vector<std::byte>(4 << 20);
};

TEST_F(MappingTest, MapsAtALeafAndGivesAllBack) {
  const auto before = allocator.free_ranges();
  {
    const Mapping mapping(space, allocator, memory);
    EXPECT_EQ(mapping.iova(), 2U << 20);
    EXPECT_EQ(space.mapped.at(2U << 20), memory.size());
  }
  EXPECT_TRUE(space.mapped.empty());
  EXPECT_EQ(allocator.free_ranges(), before);
}

TEST_F(MappingTest, MovesOwnership) {
  Mapping first(space, allocator, memory);
  Mapping second(std::move(first));
  EXPECT_TRUE(first.memory().empty());
  second.unmap();
  EXPECT_TRUE(space.mapped.empty());
  EXPECT_NO_THROW(second.unmap());
}

TEST_F(MappingTest, KeepsADevicesLimit) {
  try {
    Mapping(space, allocator, memory, Access::read, (4U << 20) - 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), ENOSPC) << error.what();
  }
}

TEST_F(MappingTest, AFailedMapLeavesTheAddressFree) {
  const auto before = allocator.free_ranges();
  space.fail_map = ENOMEM;
  try {
    Mapping(space, allocator, memory);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "map 4194304 bytes at 0x200000 of table: ENOMEM: told by the table");
  }
  EXPECT_EQ(allocator.free_ranges(), before);
}

TEST_F(MappingTest, AnUnmapOfAnotherSizeIsAnErrorAndTheAddressIsNotUsedAgain) {
  Mapping mapping(space, allocator, memory);
  space.mapped[mapping.iova()] = 4096;
  try {
    mapping.unmap();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "unmap 4194304 bytes at 0x200000 of table: EMSGSIZE: 4096 bytes instead");
  }
  EXPECT_NE(allocator.allocate(4096, 2 << 20), mapping.iova());
}

}  // namespace
}  // namespace pagemix::vfio::iommu
