// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/vfio.h>

#include <cerrno>
#include <cstring>

#include "pagemix/vfio/vfio.hpp"

namespace pagemix::vfio::iommu {
namespace {

constexpr std::uint64_t top = ~std::uint64_t{0};

/// A reply of VFIO_IOMMU_GET_INFO, built from its parts.
class Reply {
 public:
  Reply() : bytes_(sizeof(vfio_iommu_type1_info)) {
    head_.flags = VFIO_IOMMU_INFO_PGSIZES | VFIO_IOMMU_INFO_CAPS;
    head_.iova_pgsizes = 0x40201000;
  }
  /// Appends a capability behind the others and links it.
  template <typename Cap>
  Reply& add(std::uint16_t id, Cap cap, const std::vector<vfio_iova_range>& ranges = {}) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    if (last_ == 0)
      head_.cap_offset = at;
    else
      std::memcpy(bytes_.data() + last_ + offsetof(vfio_info_cap_header, next), &at, sizeof at);
    last_ = at;
    cap.header.id = id;
    cap.header.version = 1;
    append(&cap, sizeof cap);
    append(ranges.data(), ranges.size() * sizeof(vfio_iova_range));
    return *this;
  }
  Reply& add_ranges(const std::vector<vfio_iova_range>& ranges, std::uint32_t claimed) {
    vfio_iommu_type1_info_cap_iova_range cap{};
    cap.nr_iovas = claimed;
    return add(VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, cap, ranges);
  }
  Reply& add_available(std::uint32_t available) {
    vfio_iommu_type1_info_dma_avail cap{};
    cap.avail = available;
    return add(VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL, cap);
  }
  void link_last_to(std::uint32_t offset) {
    std::memcpy(bytes_.data() + last_ + offsetof(vfio_info_cap_header, next), &offset,
                sizeof offset);
  }
  void cut(std::size_t bytes) { bytes_.resize(bytes_.size() - bytes); }
  vfio_iommu_type1_info& head() { return head_; }
  std::span<const std::byte> bytes() {
    std::memcpy(bytes_.data(), &head_, std::min(bytes_.size(), sizeof head_));
    return bytes_;
  }
  std::uint32_t last() const { return last_; }

 private:
  void append(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size != 0) std::memcpy(bytes_.data() + at, data, size);
  }
  vfio_iommu_type1_info head_{};
  std::vector<std::byte> bytes_;
  std::uint32_t last_ = 0;
};

void expect_malformed(Reply& reply, const std::string& part) {
  try {
    parse_type1_info(reply.bytes());
    FAIL() << "no error, expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), EPROTO);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Type1Info, ReadsAllCapabilities) {
  Reply reply;
  vfio_iommu_type1_info_cap_migration migration{};
  reply.add(VFIO_IOMMU_TYPE1_INFO_CAP_MIGRATION, migration)
      .add_available(65535)
      .add_ranges({{0x8100000, top}, {0, 0x7ffffff}}, 2);
  const Type1Info info = parse_type1_info(reply.bytes());
  EXPECT_EQ(info.page_sizes, 0x40201000U);
  EXPECT_EQ(info.available_mappings, 65535U);
  EXPECT_EQ(info.iova_ranges, (std::vector<IovaRange>{{0, 0x7ffffff}, {0x8100000, top}}));
}

TEST(Type1Info, PassesOverUnknownCapabilities) {
  Reply reply;
  vfio_iommu_type1_info_dma_avail unknown{};
  reply.add(4711, unknown).add_ranges({{4096, 8191}}, 1);
  EXPECT_EQ(parse_type1_info(reply.bytes()).iova_ranges, (std::vector<IovaRange>{{4096, 8191}}));
}

TEST(Type1Info, OldKernelsTellNoRanges) {
  Reply reply;
  reply.head().flags = VFIO_IOMMU_INFO_PGSIZES;
  const Type1Info info = parse_type1_info(reply.bytes().first(16));
  EXPECT_EQ(info.iova_ranges, (std::vector<IovaRange>{{0, top}}));
  EXPECT_FALSE(info.available_mappings);
}

TEST(Type1Info, NoUsableRangeIsNotTheWholeSpace) {
  Reply reply;
  reply.add_ranges({}, 0);
  EXPECT_TRUE(parse_type1_info(reply.bytes()).iova_ranges.empty());
}

TEST(Type1Info, RefusesMalformedReplies) {
  {
    Reply reply;
    reply.cut(sizeof(vfio_iommu_type1_info) - 15);
    expect_malformed(reply, "has 15 bytes");
  }
  {
    Reply reply;
    reply.head().iova_pgsizes = 0;
    expect_malformed(reply, "no page sizes");
  }
  {
    Reply reply;
    reply.head().cap_offset = 4096;
    expect_malformed(reply, "capability at offset 4096 leaves");
  }
  {
    Reply reply;
    reply.head().cap_offset = 8;
    expect_malformed(reply, "turns back to offset 8");
  }
  {
    Reply reply;
    reply.add_available(1);
    reply.link_last_to(reply.last());
    expect_malformed(reply, "turns back");
  }
  {
    Reply reply;
    reply.add_available(1);
    reply.link_last_to(0xfffffffc);
    expect_malformed(reply, "leaves");
  }
  {
    Reply reply;
    reply.add_available(1);
    reply.cut(1);
    expect_malformed(reply, "mapping limit capability");
  }
  {
    Reply reply;
    reply.add_ranges({{0, 1}}, 2);
    expect_malformed(reply, "claims 2 ranges, the reply has room for 1");
  }
  {
    Reply reply;
    reply.add_ranges({{0, 1}}, 0xffffffff);
    expect_malformed(reply, "claims 4294967295");
  }
  {
    Reply reply;
    reply.add_ranges({{0x2000, 0x1000}}, 1);
    expect_malformed(reply, "0x2000-0x1000 ends before it starts");
  }
}

MapFailure failure_with(int errnum) {
  MapFailure failure;
  failure.errnum = errnum;
  failure.address = 0x7f0000000000;
  failure.bytes = 10 << 20;
  failure.iova = 0x200000;
  failure.ranges = {{0, 0x7ffffff}, {0x8100000, 0xffffffffffff}};
  return failure;
}

void expect_text(const MapFailure& failure, const std::string& part) {
  const std::string text = explain_map_failure(failure);
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nexpected: " << part;
}

TEST(ExplainMap, NamesTheReservedRange) {
  MapFailure failure = failure_with(EINVAL);
  failure.iova = 0x8000000;
  expect_text(failure, "inside reserved range 0x8000000-0x80fffff; usable: 0x0-0x7ffffff, ");
  failure.iova = 0x7f00000;  // starts below, reaches in
  expect_text(failure, "inside reserved range 0x8000000-0x80fffff");
  failure.iova = 0x80ff000;  // starts in, reaches out
  expect_text(failure, "inside reserved range 0x8000000-0x80fffff");
  failure.iova = 0xfffffffff000;  // over the end
  expect_text(failure, "inside reserved range 0x1000000000000-0xffffffffffffffff");
  failure.ranges = {{0x1000, top}};
  failure.iova = 0;
  expect_text(failure, "inside reserved range 0x0-0xfff");
}

TEST(ExplainMap, NamesAlignment) {
  MapFailure failure = failure_with(EINVAL);
  failure.iova = 0x200800;
  expect_text(failure, "the IOVA is no multiple of the granule 4096 bytes");
  failure = failure_with(EINVAL);
  failure.bytes = 100;
  expect_text(failure, "the size is no multiple of the granule");
  failure.bytes = 0;
  expect_text(failure, "0 bytes, allowed: multiples of 4096");
  failure = failure_with(EINVAL);
  failure.address += 8;
  expect_text(failure, "the memory at 0x7f0000000008 is not aligned");
  for (const int errnum : {EINVAL, EOVERFLOW}) {
    failure = failure_with(errnum);
    failure.iova = top - 0xfff;
    expect_text(failure, "exceed the 64-bit address space");
  }
}

TEST(ExplainMap, NamesTheMappingLimitsSetting) {
  for (const int errnum : {ENOSPC, E2BIG}) {
    MapFailure failure = failure_with(errnum);
    failure.available_mappings = 0;
    expect_text(failure, "0 mappings left");
    expect_text(failure, "dma_entry_limit of module vfio_iommu_type1 (default 65535)");
  }
}

TEST(ExplainMap, NamesTheLockedMemoryLimit) {
  MapFailure failure = failure_with(ENOMEM);
  failure.memlock_limit = 8 << 20;
  failure.memlock_used = 1 << 20;
  expect_text(failure, "10485760 bytes needed, 1048576 bytes in use, RLIMIT_MEMLOCK 8388608");
  expect_text(failure, "ulimit -l");
  failure.memlock_limit = top;
  expect_text(failure, "no memory for 10485760 bytes");
}

TEST(ExplainMap, TellsWhyMemoryCannotBePinned) {
  MapFailure failure = failure_with(EFAULT);
  failure.address = 0x7f0000001000;
  failure.bytes = 0x2000;
  failure.smaps =
      "7f0000001000-7f0000002000 rw-s 00000000 00:01 1 /dev/zero\nVmFlags: rd wr sh mr \n"
      "7f0000002000-7f0000004000 rw-s 00000000 00:01 2 /dmabuf:\nVmFlags: rd wr sh pf io \n";
  expect_text(failure, "0x7f0000002000 is a PFNMAP mapping");
  expect_text(failure, "cannot be pinned");
  failure.bytes = 0x1000;
  expect_text(failure, "no memory behind it");
  failure.smaps = "7f0000001000-7f0000002000 r--s 00000000 00:01 1 /x\nVmFlags: rd sh \n";
  expect_text(failure, "0x7f0000001000 is mapped read-only");
  failure.access = Access::read;
  expect_text(failure, "no memory behind it");
  failure.bytes = 0x2000;
  expect_text(failure, "no memory is mapped at 0x7f0000002000");
  failure.smaps.clear();
  expect_text(failure, "no memory is mapped at 0x7f0000001000");
}

TEST(ExplainMap, NamesAnOverlap) { expect_text(failure_with(EEXIST), "overlaps"); }

TEST(Type1Container, SaysHowToLoadVfio) {
  SystemPaths paths;
  paths.dev = "/nonexistent";
  pci::DeviceInfo device;
  device.iommu_group = 3;
  try {
    const Type1Container container(device, paths);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "open /nonexistent/vfio/vfio: ENOENT: VFIO is not loaded: modprobe vfio-pci");
  }
}

}  // namespace
}  // namespace pagemix::vfio::iommu
