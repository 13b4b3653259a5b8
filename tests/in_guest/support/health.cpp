// SPDX-License-Identifier: Apache-2.0
#include "support/health.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

constexpr char kKmemleak[] = "/sys/kernel/debug/kmemleak";
constexpr char kDmaDebug[] = "/sys/kernel/debug/dma-api";
// A folder a cache with alloc_traces, of those that slab_debug=U tracks.
constexpr char kSlabTraces[] = "/sys/kernel/debug/slab";

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// kmemleak lets objects grow five seconds old before it reports them, and wants
// the same content in two scans.
std::string leaks() {
  for (int scan = 0; scan < 2; scan++) {
    sleep(6);
    if (const int err = write_text(kKmemleak, "scan"))
      return "kmemleak gave up: scan answers errno " + std::to_string(err);
  }
  std::ifstream file(kKmemleak);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Memory Memory::settled() {
  sync();
  usleep(300000);
  Memory memory;
  memory.iommu_kib = std::max(0L, meminfo_kib("SecPageTables"));
  memory.free_kib = settled_free_kib() + memory.iommu_kib;
  memory.slab_kib = meminfo_kib("SUnreclaim");
  return memory;
}

Health::Health() : taints_(read_line("/proc/sys/kernel/tainted")) {}

std::string Health::checkers() {
  std::string names;
  if (exists(kKmemleak)) names += "kmemleak ";
  if (exists(kDmaDebug)) names += "dma-debug ";
  if (exists(std::string(kSlabTraces) + "/kmalloc-64/alloc_traces")) names += "slab-traces ";
  return names.empty() ? "none" : names;
}

std::vector<std::string> Health::problems() const {
  std::vector<std::string> found;
  const std::string taints = read_line("/proc/sys/kernel/tainted");
  if (taints != taints_)
    found.push_back("the kernel's taints were " + taints_ + " and are " + taints);
  if (exists(kDmaDebug)) {
    const std::string dma = kDmaDebug;
    if (read_line(dma + "/error_count") != "0")
      found.push_back("dma-debug counts errors: " + read_line(dma + "/error_count"));
    if (read_line(dma + "/disabled") != "N") found.emplace_back("dma-debug has disabled itself");
  }
  if (exists(kKmemleak)) {
    const std::string text = leaks();
    if (!text.empty()) found.push_back("kmemleak:\n" + text);
  }
  return found;
}

// A line with the count and the function that allocated, "      3 buffer_attach+0x30/0xd0
// [pagemix] age=...", then its callers, which are indented and have no count.
std::vector<std::string> live_objects(const std::string& module) {
  static const std::regex allocator(R"( *([0-9]+ [^ ]+ \[([^\]]+)\]).*)");
  shrink_slabs();  // objects in KASAN's quarantine count as allocated
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& cache : std::filesystem::directory_iterator(kSlabTraces, none)) {
    std::ifstream file(cache.path() / "alloc_traces");
    std::string line;
    std::smatch match;
    while (std::getline(file, line))
      if (line.find('[') != std::string::npos && std::regex_match(line, match, allocator) &&
          match[2] == module)
        found.push_back(cache.path().filename().string() + ": " + match[1].str());
  }
  return found;
}

long growth_bound_kib() { return exists(kKmemleak) ? 8192 : 1024; }

std::string memory_growth(const Memory& before, const Memory& now) {
  // 2048 tables of 512 pages below 4 GiB, and as many for ranges above.
  constexpr long kTablesKib = 16384;
  std::string text;
  const auto judge = [&](const char* what, long grown, long from, long to, long bound_kib) {
    if (grown > bound_kib)
      text += std::string(what) + ": " + std::to_string(from) + " KiB before, " +
              std::to_string(to) + " KiB after, allowed are " + std::to_string(bound_kib) +
              " KiB; ";
  };
  const long bound = growth_bound_kib();
  judge("free memory", before.free_kib - now.free_kib, before.free_kib, now.free_kib, bound);
  judge("slabs", now.slab_kib - before.slab_kib, before.slab_kib, now.slab_kib, bound);
  judge("tables of IOMMUs", now.iommu_kib, before.iommu_kib, now.iommu_kib, kTablesKib);
  return text;
}

}  // namespace pagemix::test
