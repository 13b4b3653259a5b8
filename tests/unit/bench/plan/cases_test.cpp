// SPDX-License-Identifier: Apache-2.0
// Names of benchmarks and the interleaving.
#include "plan/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pagemix::bench {
namespace {

Profile small_profile() {
  Profile profile;
  profile.mixes = {"order0", "order4"};
  profile.layouts = {"scattered", "buddy"};
  profile.families = {"alloc",    "free",       "map_sgtable", "unmap_sgtable",
                      "vfio_map", "vfio_unmap", "sample_cost"};
  profile.states = {"warm", "cold"};
  profile.bytes = {{"10M", 10485760}};
  return profile;
}

TEST(Cases, NamesAreThoseOfTheResultFormat) {
  std::vector<std::string> names;
  for (const Case& item : expand(small_profile())) names.push_back(item.name());
  // 4 buffers: alloc 4, free 4, two map families with two states 16, vfio 8, cost 2
  EXPECT_EQ(names.size(), 34u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const char* name : {"alloc/mix:order0/layout:scattered/bytes:10485760",
                           "free/mix:order4/layout:buddy/bytes:10485760",
                           "map_sgtable/mix:order4/layout:scattered/bytes:10485760",
                           "unmap_sgtable/mix:order4/layout:buddy/bytes:10485760/state:cold",
                           "vfio_unmap/mix:order0/layout:buddy/bytes:10485760",
                           "sample_cost/timer:kernel", "sample_cost/timer:user"})
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  EXPECT_EQ(std::ranges::count_if(names,
                                  [](const std::string& name) {
                                    return name.starts_with("vfio") && name.ends_with("state:cold");
                                  }),
            0);
}

TEST(Cases, EveryBlockHoldsEveryCaseOnce) {
  const std::vector<Case> cases = expand(small_profile());
  for (std::uint32_t block = 0; block < 5; ++block) {
    std::vector<std::size_t> order = block_order(cases, 1, block);
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
    EXPECT_EQ(order.size(), cases.size());
  }
}

TEST(Cases, TheSeedDecidesTheOrder) {
  const std::vector<Case> cases = expand(small_profile());
  EXPECT_EQ(block_order(cases, 7, 0), block_order(cases, 7, 0));
  EXPECT_NE(block_order(cases, 7, 0), block_order(cases, 8, 0));
  EXPECT_NE(block_order(cases, 7, 0), block_order(cases, 7, 2));
}

TEST(Cases, TheOrderIsTheSameEverywhere) {
  // The standard fixes std::mt19937_64; the shuffle is our own. Worked
  // out by another implementation of both: a change here changes published runs.
  std::vector<Case> cases(8, Case{.family = "alloc"});
  EXPECT_EQ(block_order(cases, 1, 0), (std::vector<std::size_t>{4, 6, 3, 5, 1, 7, 2, 0}));
}

TEST(Cases, TheDeviceIsBoundAnewAtMostOnceABlock) {
  const std::vector<Case> cases = expand(small_profile());
  Group bound = Group::kNone;
  unsigned changes = 0;
  for (std::uint32_t block = 0; block < 4; ++block)
    for (const std::size_t index : block_order(cases, 3, block)) {
      const Group group = cases[index].group();
      if (group == Group::kNone || group == bound) continue;
      bound = group;
      ++changes;
    }
  EXPECT_EQ(changes, 5u);  // once to start with, then one change in each block
}

Profile domain_profile() {
  Profile profile = small_profile();
  profile.families = {"map_sgtable", "map_page", "sync", "iommu_map", "vfio_map", "alloc"};
  profile.domains = {"strict", "lazy", "identity"};
  return profile;
}

// A domain of its own (iommu_map, VFIO) is in no mode, an allocation needs no domain.
TEST(Cases, TheDmaApiIsMeasuredInEachDomainMode) {
  const std::vector<Case> cases = expand(domain_profile());
  std::vector<std::string> names;
  for (const Case& item : cases) {
    names.push_back(item.name());
    const bool by_dma_api =
        item.family == "map_sgtable" || item.family == "map_page" || item.family == "sync";
    EXPECT_EQ(item.domain().empty(), !by_dma_api) << item.name();
  }
  // 4 buffers: 2 and 2 states, 6 operations and directions in 3 modes; without, iommu_map's
  // 2 states and two families
  EXPECT_EQ(names.size(), 4u * ((2 + 2 + 6) * 3 + 2 + 2));
  for (const char* name :
       {"map_sgtable/mix:order0/layout:buddy/bytes:10485760/state:cold/domain:lazy",
        "map_page/mix:order4/layout:scattered/bytes:10485760/domain:identity",
        "sync/mix:order0/layout:scattered/bytes:10485760/op:end/direction:to_device/domain:strict",
        "iommu_map/mix:order0/layout:scattered/bytes:10485760"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
}

TEST(Cases, VfioIsMeasuredOnEachBackend) {
  Profile profile = small_profile();
  profile.backends = {"type1", "iommufd"};
  std::vector<std::string> names;
  for (const Case& item : expand(profile)) {
    names.push_back(item.name());
    EXPECT_EQ(item.backend().empty(), !item.family.starts_with("vfio_")) << item.name();
  }
  // 34 without; eight of VFIO are there once more
  EXPECT_EQ(names.size(), 42u);
  EXPECT_EQ(std::ranges::count(names,
                               "vfio_map/mix:order0/layout:buddy/bytes:10485760/"
                               "backend:iommufd"),
            1);
}

TEST(Cases, TheDomainIsSwitchedAtMostOnceAModeAndBlock) {
  const std::vector<Case> cases = expand(domain_profile());
  std::string mode = "none yet";
  unsigned changes = 0;
  for (std::uint32_t block = 0; block < 4; ++block)
    for (const std::size_t index : block_order(cases, 3, block)) {
      if (cases[index].group() != Group::kModule || cases[index].domain() == mode) continue;
      mode = cases[index].domain();
      ++changes;
    }
  // Four modes with the machine's own; a block begins with the one that ended the last.
  EXPECT_EQ(changes, 4u + 3 * 3);
}

}  // namespace
}  // namespace pagemix::bench
