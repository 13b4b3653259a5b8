// SPDX-License-Identifier: Apache-2.0
// The driver cannot write to a drive: what can be encoded, which types a queue
// takes, and which opcodes the sources name.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <type_traits>

#include "pagemix/vfio/nvme/command.hpp"
#include "pagemix/vfio/nvme/queue.hpp"

namespace pagemix::vfio::nvme {
namespace {

namespace fs = std::filesystem;

// Opcodes by the numbers of the specifications, not by the names that the
// driver uses: NVM command set 1.0 figure 23, base 2.0 figure 138.
const std::set<unsigned> kIoAllowed = {0x02 /* Read */, 0x05 /* Compare */};
const std::set<unsigned> kAdminAllowed = {0x00, 0x01, 0x04, 0x05,  // delete, create queues
                                          0x06, 0x08, 0x09};       // Identify, Abort, Set Features

// No way to make a command from an opcode or an entry, or to turn an admin
// command, some of whose opcodes mean Write in an I/O queue, into an I/O command.
static_assert(!std::is_default_constructible_v<IoCommand> &&
              !std::is_constructible_v<IoCommand, SubmissionEntry> &&
              !std::is_constructible_v<IoCommand, AdminCommand> &&
              !std::is_convertible_v<AdminCommand, IoCommand> &&
              !std::is_convertible_v<SubmissionEntry, IoCommand>);
static_assert(!std::is_default_constructible_v<AdminCommand> &&
              !std::is_constructible_v<AdminCommand, SubmissionEntry> &&
              !std::is_constructible_v<AdminCommand, IoCommand>);
// entry() gives no way to change it.
static_assert(std::is_same_v<decltype(std::declval<IoCommand&>().entry()), const SubmissionEntry&>);
static_assert(
    std::is_same_v<decltype(std::declval<AdminCommand&>().entry()), const SubmissionEntry&>);

/// Numbers in which every bit is set sooner or later, with the extremes often.
class Numbers {
 public:
  std::uint64_t operator()() {
    switch (random_() % 4) {
      case 0:
        return 0;
      case 1:
        return ~std::uint64_t{0};
      case 2:
        return std::uint64_t{1} << random_() % 64;
      default:
        return random_();
    }
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>((*this)()); }
  std::uint16_t u16() { return static_cast<std::uint16_t>((*this)()); }

 private:
  std::mt19937_64 random_{1};
};

TEST(NvmeCommand, IoCommandsAreReadOrCompareForEveryInput) {
  Numbers any;
  std::set<unsigned> seen;
  for (int i = 0; i < 200000; ++i) {
    const DataPointer data{any(), any()};
    const std::uint16_t id = any.u16();
    const std::uint32_t nsid = any.u32();
    const std::uint64_t lba = any();
    const std::uint32_t blocks = any.u32();
    for (const SubmissionEntry& entry : {IoCommand::read(id, nsid, data, lba, blocks).entry(),
                                         IoCommand::compare(id, nsid, data, lba, blocks).entry()}) {
      ASSERT_TRUE(kIoAllowed.contains(entry.opcode)) << unsigned{entry.opcode};
      // Not fused (Compare and Write), PRPs; no flag that changes what is done.
      ASSERT_EQ(entry.flags, 0);
      ASSERT_EQ(entry.dword12 & 0xffff0000U, 0U);
      ASSERT_EQ(entry.metadata | entry.reserved | entry.dword13 | entry.dword14 | entry.dword15,
                0U);
      seen.insert(entry.opcode);
    }
  }
  EXPECT_EQ(seen, kIoAllowed);
}

TEST(NvmeCommand, AdminCommandsAreTheClosedSetForEveryInput) {
  Numbers any;
  std::set<unsigned> seen;
  for (int i = 0; i < 100000; ++i) {
    const AdminCommand commands[] = {
        AdminCommand::identify_controller(any()),
        AdminCommand::identify_namespace(any.u32(), any()),
        AdminCommand::identify_active_namespaces(any.u32(), any()),
        AdminCommand::set_queue_count(any.u32()),
        AdminCommand::create_completion_queue(any.u16(), any.u32(), any()),
        AdminCommand::create_submission_queue(any.u16(), any.u32(), any(), any.u16()),
        AdminCommand::delete_submission_queue(any.u16()),
        AdminCommand::delete_completion_queue(any.u16()),
        AdminCommand::abort(any.u16(), any.u16())};
    for (AdminCommand command : commands) {
      command.set_id(any.u16());
      const SubmissionEntry& entry = command.entry();
      ASSERT_TRUE(kAdminAllowed.contains(entry.opcode)) << unsigned{entry.opcode};
      ASSERT_EQ(entry.flags, 0);
      // Set Features: Number of Queues (7), not saved. Anything else changes the drive.
      if (entry.opcode == 0x09) {
        ASSERT_EQ(entry.dword10, 7U);
      }
      seen.insert(entry.opcode);
    }
  }
  EXPECT_EQ(seen, kAdminAllowed);
}

TEST(NvmeCommand, FieldsAreWhereTheSpecificationHasThem) {
  const auto read = IoCommand::read(0x1234, 7, {0x1000, 0x2000}, 0x123456789abcU, 8).entry();
  EXPECT_EQ(read.opcode, 0x02);
  EXPECT_EQ(read.command_id, 0x1234);
  EXPECT_EQ(read.nsid, 7U);
  EXPECT_EQ(read.prp1, 0x1000U);
  EXPECT_EQ(read.prp2, 0x2000U);
  EXPECT_EQ(read.dword10, 0x56789abcU);
  EXPECT_EQ(read.dword11, 0x1234U);
  EXPECT_EQ(read.dword12, 7U);
  const auto bytes = reinterpret_cast<const unsigned char*>(&read);
  EXPECT_EQ(bytes[0], 0x02);
  EXPECT_EQ(bytes[2], 0x34);
  EXPECT_EQ(bytes[24], 0x00);
  EXPECT_EQ(bytes[25], 0x10);
  EXPECT_EQ(bytes[40], 0xbc);
  EXPECT_EQ(IoCommand::read(0, 1, {}, 0, 65536).entry().dword12, 0xffffU);

  const auto cq = AdminCommand::create_completion_queue(3, 128, 0x5000).entry();
  EXPECT_EQ(cq.dword10, 127U << 16 | 3);
  EXPECT_EQ(cq.dword11, 1U);  // contiguous, interrupts off
  const auto sq = AdminCommand::create_submission_queue(3, 128, 0x6000, 4).entry();
  EXPECT_EQ(sq.prp1, 0x6000U);
  EXPECT_EQ(sq.dword11, 4U << 16 | 1);
  EXPECT_EQ(AdminCommand::set_queue_count(64).entry().dword11, 63U << 16 | 63);
  EXPECT_EQ(AdminCommand::abort(2, 9).entry().dword10, 9U << 16 | 2);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> sources() {
  std::vector<fs::path> paths;
  for (const char* folder : {"vfio", "bench"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(PAGEMIX_SOURCE) / folder))
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
        paths.push_back(entry.path());
  return paths;
}

TEST(NvmeCommand, SourcesNameNoOtherOpcode) {
  const std::set<std::string> allowed = {
      "nvme_cmd_read",        "nvme_cmd_compare",     "nvme_admin_identify",
      "nvme_admin_create_cq", "nvme_admin_create_sq", "nvme_admin_delete_cq",
      "nvme_admin_delete_sq", "nvme_admin_abort_cmd", "nvme_admin_set_features"};
  const std::regex opcode("\\bnvme_(?:cmd|admin|zns_cmd)_\\w+");
  std::set<std::string> seen;
  for (const fs::path& path : sources()) {
    const std::string text = text_of(path);
    for (std::sregex_iterator at(text.begin(), text.end(), opcode), end; at != end; ++at) {
      seen.insert(at->str());
      EXPECT_TRUE(allowed.contains(at->str())) << path << ": " << at->str();
      EXPECT_EQ(path.filename(), "command.cpp") << at->str();
    }
  }
  EXPECT_EQ(seen, allowed);
}

TEST(NvmeCommand, OnlyCommandsReachARing) {
  // Entries are made in command.cpp; the rings take them from a command, and
  // nothing else assigns to one.
  const std::regex makes("\\bSubmissionEntry\\s+\\w+\\s*[;{=]|\\bSubmissionEntry\\s*[{(]");
  const std::regex opcode_store("\\bopcode\\s*=[^=]");
  const std::regex ring_store("submissions_\\[[^\\]]*\\]\\s*(?:\\.\\w+\\s*)?=\\s*([^;]+);");
  unsigned stores = 0;
  for (const fs::path& path : sources()) {
    const std::string text = text_of(path);
    const bool commands = path.filename() == "command.cpp" || path.filename() == "command.hpp";
    if (!commands) {
      EXPECT_FALSE(std::regex_search(text, makes)) << path;
      EXPECT_FALSE(std::regex_search(text, opcode_store)) << path;
    }
    for (std::sregex_iterator at(text.begin(), text.end(), ring_store), end; at != end; ++at) {
      ++stores;
      EXPECT_TRUE(std::regex_match((*at)[1].str(), std::regex("(command|numbered)\\.entry\\(\\)")))
          << path;
    }
  }
  EXPECT_EQ(stores, 2U) << "the admin queue's and the I/O queue's";
}

}  // namespace
}  // namespace pagemix::vfio::nvme
