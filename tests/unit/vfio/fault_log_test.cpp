// SPDX-License-Identifier: Apache-2.0
// Kernel messages of refused accesses, as the drivers print them.
#include "pagemix/vfio/iommu/fault_log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pagemix::vfio::iommu {
namespace {

std::vector<Fault> parse(const std::vector<std::string>& messages) {
  FaultParser parser;
  std::vector<Fault> faults;
  for (const std::string& message : messages)
    if (auto fault = parser.feed(message)) faults.push_back(*fault);
  return faults;
}

TEST(FaultLog, SmmuEventOfFiveRecords) {
  const std::string start = "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:";
  const std::string prefix = "arm-smmu-v3 arm-smmu-v3.0.auto: \\x09";
  const std::vector<std::string> event = {start,
                                          prefix + "0x0000001000000010",
                                          "usb 1-1: something in between",
                                          prefix + "0x0000020800000000",
                                          prefix + "0x00000000dead0000",
                                          prefix + "0x0000000000000000"};
  const auto faults = parse(event);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0], (Fault{0xdead0000, 0x10, start}));
}

TEST(FaultLog, BrokenSmmuEventsAreDropped) {
  const std::string start = "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:";
  const std::string word =
      "arm-smmu-v3 arm-smmu-v3.0.auto: \\x09"
      "0x0000000000001000";
  EXPECT_TRUE(parse({word, word, word, word}).empty()) << "no start";
  EXPECT_TRUE(parse({start, word, word, word}).empty()) << "a word missing";
  EXPECT_EQ(parse({start, word, start, word, word, word, word}).size(), 1U) << "begun anew";
}

TEST(FaultLog, OneLineDrivers) {
  const std::string smmu =
      "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: 0000:00:02.0 sid: 0x10 ssid: "
      "0x0 iova: 0xdead000 ipa: 0x0";
  const std::string virtio = "virtio_iommu virtio0: page fault from EP 16 at 0xbeef000 [ W ]";
  const std::string vtd =
      "DMAR: [DMA Read NO_PASID] Request device [00:02.0] fault addr 0xfeed000 [fault reason 0x06] "
      "PTE Read access is not set";
  const std::string vtd_old =
      "DMAR: [DMA Read] Request device [01:00.1] PASID ffffffff fault addr 9bd00000 [fault reason "
      "06] PTE Read access is not set";
  const std::string amd =
      "vfio-pci 0000:00:02.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000d "
      "address=0xcff49550 flags=0x0070]";
  const std::string amd_unknown =
      "AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x0012 "
      "address=0x00000000ff6101b0 flags=0x0070]";
  const auto faults = parse({smmu, virtio, vtd, vtd_old, amd, amd_unknown});
  ASSERT_EQ(faults.size(), 6U);
  EXPECT_EQ(faults[0], (Fault{0xdead000, 0x10, smmu}));
  EXPECT_EQ(faults[1], (Fault{0xbeef000, 0x10, virtio}));
  EXPECT_EQ(faults[2], (Fault{0xfeed000, 0x10, vtd}));
  EXPECT_EQ(faults[3], (Fault{0x9bd00000, 0x101, vtd_old}));
  EXPECT_EQ(faults[4], (Fault{0xcff49550, 0x10, amd}));
  EXPECT_EQ(faults[5], (Fault{0xff6101b0, 0x500, amd_unknown}));
}

TEST(FaultLog, OtherMessagesAreNoFaults) {
  EXPECT_TRUE(parse({"", "arm-smmu-v3 arm-smmu-v3.0.auto: ias 44-bit, oas 44-bit (features 0x0)",
                     "virtio_iommu virtio0: page fault from EP 16", "DMAR: IOMMU enabled",
                     "AMD-Vi: Interrupt remapping enabled", "pci 0000:00:02.0: fault addr 0x1"})
                  .empty());
}

TEST(FaultLog, WithoutALogNothingIsSeen) {
  FaultLog log("/nonexistent/kmsg");
  EXPECT_FALSE(log.readable());
  EXPECT_TRUE(log.read().empty());
}

}  // namespace
}  // namespace pagemix::vfio::iommu
