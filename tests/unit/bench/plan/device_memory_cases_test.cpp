// SPDX-License-Identifier: Apache-2.0
// Keys and names of the families that allocate memory for a device, and of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "plan/cases.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;

Profile profile_of(const std::string& keys) {
  const std::vector<std::string> mixes = {"order0", "order4"};
  return make_profile(parse_ini("[run]\nmixes = order0\n" + keys, "p.ini"), "p.ini", {}, mixes);
}

std::vector<std::string> names_of(const std::string& keys) {
  std::vector<std::string> names;
  for (const Case& item : expand(profile_of(keys))) names.push_back(item.name());
  return names;
}

TEST(DeviceMemoryCases, CoherentNames) {
  const std::vector<Case> cases = expand(
      profile_of("families = coherent\ncoherent_bytes = 4K\ncoherent_attrs = default zero\n"));
  std::vector<std::string> names;
  for (const Case& item : cases) {
    names.push_back(item.name());
    EXPECT_EQ(item.group(), Group::kModule);
    EXPECT_FALSE(item.needs_module_heap());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"coherent/bytes:4096/attrs:default/op:alloc",
                                             "coherent/bytes:4096/attrs:default/op:free",
                                             "coherent/bytes:4096/attrs:zero/op:alloc",
                                             "coherent/bytes:4096/attrs:zero/op:free"}));
}

TEST(DeviceMemoryCases, APoolIsColdForAllocationsOnly) {
  EXPECT_EQ(names_of("families = dma_pool\npool_blocks = 68@32\npool_pages = 7\n"
                     "pool_frees = random\nstates = warm cold\n"),
            (std::vector<std::string>{
                "dma_pool/block:68/align:32/pages:7/free:random/op:alloc",
                "dma_pool/block:68/align:32/pages:7/free:random/op:alloc/state:cold",
                "dma_pool/block:68/align:32/pages:7/free:random/op:free"}));
}

TEST(DeviceMemoryCases, DefaultsSpanWhatIsPromised) {
  const auto coherent = names_of("families = coherent\n");
  EXPECT_TRUE(coherent.front().starts_with("coherent/bytes:4096/")) << coherent.front();
  EXPECT_TRUE(coherent.back().starts_with("coherent/bytes:33554432/")) << coherent.back();
  const auto pool = names_of("families = dma_pool\n");
  EXPECT_TRUE(pool.front().starts_with("dma_pool/block:16/align:16/pages:1/")) << pool.front();
  EXPECT_TRUE(pool.back().starts_with("dma_pool/block:4096/align:4096/pages:10000/"))
      << pool.back();
}

TEST(DeviceMemoryCases, OneThreadHasThePlainName) {
  const std::string plain = "map_page/mix:order0/layout:scattered/bytes:10485760";
  EXPECT_EQ(names_of("families = map_page\nlayouts = scattered\nthreads = 1 2\n"),
            (std::vector<std::string>{plain, plain + "/threads:2"}));
}

TEST(DeviceMemoryCases, AThreadHasABufferOfItsOwn) {
  for (const Case& item : expand(profile_of("families = map_sgtable\nthreads = 3\n")))
    EXPECT_EQ(item.buffers(), 3u);
}

// A device has one domain at a time; a sync is one attachment's.
TEST(DeviceMemoryCases, OnlyTheDmaApiIsUsedByThreads) {
  for (const char* family : {"iommu_map", "iommu_map_sg", "iommu_unmap", "alloc", "vfio_map"})
    for (const std::string& name :
         names_of(std::string("families = ") + family + "\nthreads = 4\n"))
      EXPECT_EQ(name.find("threads"), std::string::npos) << name;
}

TEST(DeviceMemoryCases, EveryMapMayBeCold) {
  for (const char* family :
       {"map_sgtable", "unmap_sgtable", "map_page", "map_single", "unmap_page", "iommu_map",
        "iommu_map_sg", "iommu_unmap", "iova_link", "iova_unlink"}) {
    const auto names = names_of(std::string("families = ") + family + "\nstates = cold\n");
    for (const std::string& name : names) EXPECT_TRUE(name.ends_with("/state:cold")) << name;
  }
  for (const std::string& name : names_of("families = attach_map\nstates = cold\n"))
    EXPECT_EQ(name.find("cold"), std::string::npos) << name;
}

struct Bad {
  const char* name;
  const char* keys;
  const char* message;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadDeviceMemory : public testing::TestWithParam<Bad> {};

TEST_P(BadDeviceMemory, NamesValueAndRange) {
  EXPECT_EQ(message_of<UsageError>([&] { profile_of(GetParam().keys); }), GetParam().message);
}

constexpr const char* kBlocks =
    "; allowed: 16..4096, as in 16, 1K or 68@32; an alignment is a power of two";

INSTANTIATE_TEST_SUITE_P(
    All, BadDeviceMemory,
    testing::Values(
        Bad{"coherent_too_large", "coherent_bytes = 33M",
            "p.ini:3: coherent_bytes: size \"33M\" out of range; allowed: multiples of 4K from 4K "
            "to 32M, as in 64K, 10M or 10485760"},
        Bad{"coherent_attr", "coherent_attrs = fast",
            "p.ini:3: coherent_attrs: unknown value \"fast\"; allowed: default, single_pages, "
            "no_kernel_mapping, zero"},
        Bad{"pages_0", "pool_pages = 0",
            "p.ini:3: pool_pages: number 0 out of range; allowed: 1..10000"},
        Bad{"pages_many", "pool_pages = 10001",
            "p.ini:3: pool_pages: number 10001 out of range; allowed: 1..10000"},
        Bad{"free_order", "pool_frees = backwards",
            "p.ini:3: pool_frees: unknown value \"backwards\"; allowed: in_order, reversed, "
            "random"},
        Bad{"threads_0", "threads = 0", "p.ini:3: threads: number 0 out of range; allowed: 1..256"},
        Bad{"threads_twice", "threads = 2 2",
            "p.ini:3: threads: \"2\" given twice; allowed: each value once"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(BadPoolBlocks, NameTheBlock) {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"8", "block \"8\" out of range"},
           {"8K", "block \"8K\" out of range"},
           {"x", "unreadable block \"x\""},
           {"16@", "unreadable block \"16@\""},
           {"68", "alignment of block \"68\" is no power of two"},
           {"64@48", "alignment of block \"64@48\" is no power of two"},
           {"64@8K", "alignment of block \"64@8K\" is no power of two"}})
    EXPECT_EQ(message_of<UsageError>([&] { profile_of("pool_blocks = " + text); }),
              "p.ini:3: pool_blocks: " + problem + kBlocks);
}

}  // namespace
}  // namespace pagemix::bench
