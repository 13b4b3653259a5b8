// SPDX-License-Identifier: Apache-2.0
// Event files of performance monitoring units, on a tree as sysfs shows it.
#include "iommu/pmu_event.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "iommu/iommu_counters.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;
using test::TemporaryFolder;

// The files of the units as Linux 6.12's drivers write them.
class Pmu : public testing::Test {
 protected:
  vfio::SystemPaths paths() const { return {.sys = folder_.path(), .proc = {}, .dev = {}}; }
  std::filesystem::path unit(const std::string& name) const {
    return folder_.path() / "bus/event_source/devices" / name;
  }
  void put(const std::string& unit_name, const std::string& file, const std::string& text) const {
    folder_.write("bus/event_source/devices/" + unit_name + "/" + file, text);
  }
  void smmu(const std::string& name, const std::string& type) const {
    put(name, "type", type);
    put(name, "cpumask", "3\n");
    put(name, "format/event", "config:0-15\n");
    put(name, "format/filter_stream_id", "config1:0-31\n");
    put(name, "format/filter_enable", "config1:33\n");
    put(name, "events/transaction", "event=0x1\n");
    put(name, "events/tlb_miss", "event=0x2\n");
    put(name, "events/trans_table_walk_access", "event=0x4\n");
  }
  void intel(const std::string& name) const {
    put(name, "type", "24\n");
    put(name, "cpumask", "0,36\n");
    put(name, "format/event", "config:0-27\n");
    put(name, "format/event_group", "config:28-31\n");
    put(name, "events/iotlb_lookup", "event_group=0x4,event=0x001\n");
    put(name, "events/iotlb_hit", "event_group=0x4,event=0x002\n");
  }

  TemporaryFolder folder_;
};

TEST_F(Pmu, AnEventOfAnSmmu) {
  smmu("smmuv3_pmcg_2b40202", "31\n");
  const auto event = read_pmu_event(unit("smmuv3_pmcg_2b40202"), "tlb_miss");
  ASSERT_TRUE(event);
  EXPECT_EQ(*event, (PmuEvent{.unit = "smmuv3_pmcg_2b40202",
                              .name = "tlb_miss",
                              .type = 31,
                              .config = {2, 0, 0},
                              .cpu = 3}));
}

TEST_F(Pmu, TermsOfAnIntelEventShareAConfig) {
  intel("dmar0");
  const auto event = read_pmu_event(unit("dmar0"), "iotlb_hit");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->config[0], 0x40000002u);
  EXPECT_EQ(event->type, 24u);
  EXPECT_EQ(event->cpu, 0);
}

TEST_F(Pmu, AnEventThatTheUnitDoesNotHave) {
  smmu("smmuv3_pmcg_1", "31\n");
  EXPECT_FALSE(read_pmu_event(unit("smmuv3_pmcg_1"), "pcie_ats_trans_rq"));
}

TEST_F(Pmu, AUnitWithoutCpumaskCountsOnCpuZero) {
  put("u", "type", "9");
  put("u", "format/event", "config:0-7");
  put("u", "events/e", "event=7");
  EXPECT_EQ(read_pmu_event(unit("u"), "e")->cpu, 0);
}

TEST_F(Pmu, ATermWithoutValueIsOne) {
  put("u", "type", "9");
  put("u", "format/event", "config:0-7");
  put("u", "format/edge", "config2:18");
  put("u", "events/e", "event=0x7,edge");
  EXPECT_EQ(read_pmu_event(unit("u"), "e")->config, (std::array<std::uint64_t, 3>{7, 0, 1u << 18}));
}

TEST_F(Pmu, WrongFilesAreNamed) {
  put("u", "type", "9");
  put("u", "format/event", "config:0-7");
  put("u", "events/wide", "event=0x100");
  put("u", "events/other", "mask=1");
  put("u", "events/odd", "event=zero");
  put("u", "events/empty", "");
  const auto read = [&](const char* name) {
    return message_of<RunError>([&] { read_pmu_event(unit("u"), name); });
  };
  EXPECT_NE(read("wide").find("events/wide: event=0x100 does not fit in the bits \"config:0-7\""),
            std::string::npos);
  EXPECT_NE(read("other").find("format/mask: it cannot be read"), std::string::npos);
  EXPECT_NE(read("odd").find("events/odd: unreadable \"event=zero\""), std::string::npos);
  EXPECT_NE(read("empty").find("events/empty: unreadable \"\""), std::string::npos);
  put("u", "format/event", "config:7-0");
  EXPECT_NE(read("odd").find("events/odd"), std::string::npos);
  EXPECT_NE(read("wide").find("format/event: unreadable \"config:7-0\""), std::string::npos);
  put("u", "type", "many");
  EXPECT_NE(read("wide").find("u/type: unreadable \"many\""), std::string::npos);
}

TEST(PmuFormat, BitsMayBeInSeveralPieces) {
  const auto field = parse_pmu_format("config:0-7,32-35");
  ASSERT_TRUE(field);
  std::array<std::uint64_t, 3> config{};
  EXPECT_TRUE(set_pmu_field(*field, 0xabc, config));
  EXPECT_EQ(config[0], (std::uint64_t{0xa} << 32) | 0xbc);
  EXPECT_FALSE(set_pmu_field(*field, 0x1000, config));
}

TEST(PmuFormat, AllSixtyFourBits) {
  std::array<std::uint64_t, 3> config{};
  EXPECT_TRUE(set_pmu_field(*parse_pmu_format("config1:0-63"), ~std::uint64_t{0}, config));
  EXPECT_EQ(config[1], ~std::uint64_t{0});
}

TEST(PmuFormat, OtherTextIsRefused) {
  for (const char* text : {"", "config", "config:", "config3:0-1", "config:0-64", "config:2-1",
                           "config:a-b", "config:0-1,", "event:0-1", "config:0--1"})
    EXPECT_FALSE(parse_pmu_format(text)) << text;
}

TEST_F(Pmu, ColumnsAddUpTheUnitsOfAMachine) {
  smmu("smmuv3_pmcg_2b40202", "31\n");
  smmu("smmuv3_pmcg_2b42002", "32\n");
  put("armv8_pmuv3_0", "type", "8");
  put("armv8_pmuv3_0", "events/tlb_miss", "event=0x2");
  const auto columns = find_iommu_columns(paths());
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].name, "iotlb_lookup");
  EXPECT_EQ(columns[1].name, "iotlb_miss");
  EXPECT_EQ(columns[2].name, "iotlb_walk_reads");
  ASSERT_EQ(columns[1].events.size(), 2u);
  EXPECT_EQ(columns[1].events[0].unit, "smmuv3_pmcg_2b40202");
  EXPECT_EQ(columns[1].events[1].type, 32u);
}

TEST_F(Pmu, EveryIommuHasItsColumns) {
  intel("dmar0");
  auto columns = find_iommu_columns(paths());
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].name, "iotlb_lookup");
  EXPECT_EQ(columns[1].name, "iotlb_hit");

  std::filesystem::remove_all(unit("dmar0"));
  put("amd_iommu_0", "type", "20");
  put("amd_iommu_0", "format/csource", "config:0-7");
  put("amd_iommu_0", "events/mem_iommu_tlb_pte_hit", "csource=0x06");
  put("amd_iommu_0", "events/mem_iommu_tlb_pte_mis", "csource=0x07");
  columns = find_iommu_columns(paths());
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].name, "iotlb_hit");
  EXPECT_EQ(columns[1].name, "iotlb_miss");
  EXPECT_EQ(columns[1].events[0].config[0], 7u);
}

TEST_F(Pmu, AMachineWithoutUnitsHasNoColumns) {
  EXPECT_TRUE(find_iommu_columns(paths()).empty());
  put("cpu", "type", "4");
  EXPECT_TRUE(find_iommu_columns(paths()).empty());
}

TEST(IommuCounters, AUnitThatIsNotThereIsNamed) {
  // No kernel has a unit of this type.
  const IommuColumn column{.name = "iotlb_miss",
                           .events = {{.unit = "smmuv3_pmcg_1",
                                       .name = "tlb_miss",
                                       .type = 0x7ffffff0,
                                       .config = {},
                                       .cpu = 0}}};
  bool ran = false;
  const std::string message =
      message_of<RunError>([&] { IommuCounters::count(column, [&] { ran = true; }); });
  EXPECT_NE(message.find("perf_event_open of smmuv3_pmcg_1/tlb_miss/ on CPU 0: "),
            std::string::npos);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace pagemix::bench
