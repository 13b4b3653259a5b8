// SPDX-License-Identifier: Apache-2.0
// Every benchmark name of every profile, and under every option that adds a part to a
// name, against data/names.txt: names are published, results of years are joined by them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "plan/family_table.hpp"
#include "plan/mixes.hpp"
#include "plan/profile.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

const std::filesystem::path kConfigs = CONFIGS_FOLDER;

struct Variant {
  const char* profile;
  std::vector<Override> options;
};

const char* const kAll =
    "alloc free map_sgtable unmap_sgtable attach_map map_page map_single unmap_page iommu_map "
    "iommu_map_sg iommu_unmap iova_link iova_unlink coherent dma_pool vfio_map vfio_unmap file_map "
    "file_unmap sync import use_stream use_random use_column use_pipeline alloc_series order_speed "
    "sample_cost";

std::vector<Variant> variants() {
  const std::vector<Override> small = {{"mixes", "order9 8-4-0"}, {"layouts", "scattered buddy"},
                                       {"families", kAll},        {"states", "warm cold"},
                                       {"bytes", "64K 10M"},      {"windows", "16K 1M"},
                                       {"depths", "1 32"},        {"coherent_bytes", "4K"},
                                       {"pool_blocks", "68@32"},  {"pool_pages", "10"}};
  std::vector<Variant> found = {{"device-memory", {}}, {"domains", {}},     {"full", {}},
                                {"operations", {}},    {"order-speed", {}}, {"pressure", {}},
                                {"quick", {}},         {"use", {}}};
  const std::vector<std::vector<Override>> added = {
      {},
      {{"threads", "1 2 64"}},
      {{"domain", "strict lazy identity"}},
      {{"domain", "strict"}, {"threads", "2"}, {"states", "cold"}},
      {{"backend", "type1 iommufd iommufd-4k"}},
      {{"domain", "lazy"}, {"backend", "iommufd"}},
      {{"columns", "2"}},
      {{"trace", "on off"}},
      {{"heap", "/dev/dma_heap/pagemix /dev/dma_heap/system"}, {"memory", "fresh low aged"}},
      {{"sources", "shmem hugetlb-64K hugetlb-2M hugetlb-32M hugetlb-512M hugetlb-1G"}},
      {{"orders", "0 4 8 9"}, {"maps", "each"}, {"importers", "vgem virtio_gpu"}}};
  for (const std::vector<Override>& options : added) {
    found.push_back({"quick", small});
    std::vector<Override>& all = found.back().options;
    all.insert(all.end(), options.begin(), options.end());
  }
  return found;
}

// Lines "# profile --key=value...", each followed by its names in the order of cases.
std::string all_names() {
  std::vector<std::string> mixes;
  for (const Mix& mix : load_mixes(kConfigs / "mixes.ini", 10)) mixes.push_back(mix.name);
  std::string text;
  for (const Variant& variant : variants()) {
    text += std::string("# ") + variant.profile;
    for (const Override& option : variant.options)
      text += " --" + option.key + "='" + option.value + "'";
    text += '\n';
    const auto file = kConfigs / "profiles" / (std::string(variant.profile) + ".ini");
    for (const Case& item : expand(load_profile(file, variant.options, mixes)))
      text += item.name() + '\n';
  }
  return text;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

TEST(GoldenNames, NothingPublishedChanges) {
  const std::string text = all_names();
  const std::vector<std::string> found = lines(text);
  const std::vector<std::string> golden = lines(test::read_file(GOLDEN_NAMES));
  ASSERT_GT(golden.size(), 1000u) << GOLDEN_NAMES;
  if (found == golden) return;
  std::ofstream("names.txt") << text;
  const auto [here, there] = std::ranges::mismatch(found, golden);
  FAIL() << GOLDEN_NAMES << ":" << there - golden.begin() + 1 << ": "
         << (there == golden.end() ? "(end)" : *there) << "\nnow "
         << (here == found.end() ? "(end)" : *here) << "\nall of them are in "
         << std::filesystem::absolute("names.txt");
}

TEST(GoldenNames, EveryProfileIsCovered) {
  std::vector<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "profiles"))
    there.push_back(entry.path().stem().string());
  std::ranges::sort(there);
  std::vector<std::string> covered;
  for (const Variant& variant : variants()) covered.emplace_back(variant.profile);
  std::ranges::sort(covered);
  covered.erase(std::ranges::unique(covered).begin(), covered.end());
  EXPECT_EQ(there, covered);
}

TEST(GoldenNames, EveryFamilyIsCovered) {
  std::vector<std::string> listed = family_names();
  std::vector<std::string> covered = split_words(kAll);
  std::ranges::sort(listed);
  std::ranges::sort(covered);
  EXPECT_EQ(listed, covered);
}

}  // namespace
}  // namespace pagemix::bench
