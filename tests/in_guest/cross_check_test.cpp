// SPDX-License-Identifier: Apache-2.0
// The kernel's dma_map_benchmark and the module measure the same cost: the same
// shapes on the same device, in turns, mean guest instructions of an operation
// (one map and one unmap) within 2 %, or within the kernel's rounding where that
// is more. Needs QEMU's edu device, -icount and a kernel with
// CONFIG_DMA_MAP_BENCHMARK.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "support/kernel.hpp"
#include "support/map_benchmark.hpp"

namespace pagemix::test {
namespace {

constexpr double kTolerance = 0.02;
constexpr int kTurns = 2;
constexpr std::uint32_t kRepetitions = 2000;
constexpr std::uint64_t kPageBytes = 4096;
// The kernel's mean of a half is known to 200 instructions: its samples are rounded
// down to 100 ns, and so is their mean. Each sample also holds the rest of one
// ktime_get() and the begin of another, about 50.
constexpr double kRounding = kMapBenchmarkUnitNs;  // either way
constexpr double kClock = 50;

struct Shape {
  const char* name;
  MapBenchmarkMode mode;
  std::uint32_t pages;
  std::uint8_t order;  ///< of the module's chunks
  const char* map_op;
  const char* unmap_op;
};

constexpr Shape kShapes[] = {
    {"SG, 16 pages", kMapBenchmarkSg, 16, 0, "map_sgtable", "unmap_sgtable"},
    {"SG, 256 pages", kMapBenchmarkSg, 256, 0, "map_sgtable", "unmap_sgtable"},
    {"SINGLE, 16 pages", kMapBenchmarkSingle, 16, 4, "map_single", "unmap_page"},
};

/// Leaves single pages in random order at the head of the free lists, where the next
/// allocations find them. Pages in a row would be one call of the page-table code
/// (iommu_map_sg() joins them), and how many are so is luck: 256 pages then cost
/// 87,000 to 192,000 instructions.
void scatter_free_pages() {
  const Fd buffer = allocate(16 * kMiB, {{0, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
  ASSERT_TRUE(buffer) << std::strerror(errno);
}

/// A buffer of which no chunk is followed by its neighbour.
Fd scattered_buffer(std::uint32_t pages, std::uint8_t order) {
  const Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    pagemix_alloc args =
        alloc_args(pages * kPageBytes, {{order, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
    args.seed = seed;
    if (call(heap.get(), PAGEMIX_IOC_ALLOC, &args)) break;
    Fd buffer(args.fd);
    pagemix_buf_info info{};
    info.version = PAGEMIX_UAPI_VERSION;
    info.fd = buffer.get();
    if (call(heap.get(), PAGEMIX_IOC_BUF_INFO, &info)) break;
    if (info.nr_runs == pages >> order) return buffer;
  }
  return Fd();
}

/// Mean guest instructions of the two halves of an operation.
struct Cost {
  double map = 0;
  double unmap = 0;
  double whole() const { return map + unmap; }
};

class CrossCheck : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    bdf_ = edu_device();
    ASSERT_FALSE(bdf_.empty()) << "no edu device (1234:11e8) in this machine";
    ASSERT_EQ(0, bind_driver(bdf_, kMapBenchmarkDriver));
    ASSERT_EQ(0, access(kMapBenchmarkFile, F_OK))
        << kMapBenchmarkFile << ": this kernel lacks CONFIG_DMA_MAP_BENCHMARK";
  }
  void TearDown() override {
    if (!bdf_.empty()) {
      EXPECT_EQ(0, bind_driver(bdf_, ""));
    }
  }

  /// One run of the kernel's benchmark, a second of the guest's time. Its rounding
  /// is undone on average: each sample loses 0 to 99 ns, and so does the mean.
  Cost by_kernel(const Shape& shape) {
    EXPECT_EQ(0, bind_driver(bdf_, kMapBenchmarkDriver));
    scatter_free_pages();
    const Fd file(open(kMapBenchmarkFile, O_RDWR | O_CLOEXEC));
    map_benchmark args{};
    args.threads = 1;
    args.seconds = 1;
    args.node = -1;
    args.dma_bits = 64;
    args.granule = shape.pages;
    args.map_mode = shape.mode;
    EXPECT_EQ(0, call(file.get(), kMapBenchmarkRun, &args)) << kMapBenchmarkFile;
    const auto mean = [](std::uint64_t average) {
      return (static_cast<double>(average) + 1) * kMapBenchmarkUnitNs;
    };
    return {mean(args.avg_map_100ns), mean(args.avg_unmap_100ns)};
  }

  /// The same shape by the module.
  Cost by_module(const Shape& shape) {
    EXPECT_EQ(0, bind_driver(bdf_, "pagemix"));
    const Fd node(open(("/dev/pagemix/" + bdf_).c_str(), O_RDWR | O_CLOEXEC));
    pagemix_target_ring ring{};
    ring.version = PAGEMIX_UAPI_VERSION;
    ring.capacity = kRepetitions;
    EXPECT_EQ(0, call(node.get(), PAGEMIX_IOC_TARGET_RING, &ring));
    const Map samples(node.get(), ring.bytes);
    const Fd buffer = scattered_buffer(shape.pages, shape.order);
    EXPECT_TRUE(buffer) << "no buffer of " << shape.pages << " pages without neighbours";
    const auto mean = [&](const char* op) {
      pagemix_target_run run{};
      run.version = PAGEMIX_UAPI_VERSION;
      std::strncpy(run.op, op, sizeof(run.op) - 1);
      run.fd = buffer.get();
      run.repetitions = kRepetitions;
      run.warmup = 8;
      EXPECT_EQ(0, call(node.get(), PAGEMIX_IOC_TARGET_RUN, &run)) << op;
      EXPECT_EQ(kRepetitions, run.completed) << op;
      const auto* sample = samples.as<const pagemix_sample>();
      double sum = 0;
      for (std::uint32_t i = 0; i < kRepetitions; ++i)
        sum += static_cast<double>(sample[i].end - sample[i].begin);
      return sum / kRepetitions;
    };
    return {mean(shape.map_op), mean(shape.unmap_op)};
  }

  std::string bdf_;
};

TEST_P(CrossCheck, CostsOfAnOperationAgree) {
  const Shape& shape = GetParam();
  Cost kernel;
  Cost module;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (auto [total, cost] :
         {std::pair{&kernel, by_kernel(shape)}, std::pair{&module, by_module(shape)}}) {
      total->map += cost.map / kTurns;
      total->unmap += cost.unmap / kTurns;
      std::printf("%s: %s %.0f + %.0f\n", shape.name, total == &kernel ? "kernel" : "module",
                  cost.map, cost.unmap);
    }
  }
  std::printf("%s: ratio %.4f (map %.4f, unmap %.4f)\n", shape.name,
              module.whole() / kernel.whole(), module.map / kernel.map,
              module.unmap / kernel.unmap);
  // Rounding is undone on average, so it may be left only where 2 % are less.
  EXPECT_NEAR(module.whole(), kernel.whole(), std::max(kTolerance * kernel.whole(), 2 * kRounding));
  EXPECT_NEAR(module.map, kernel.map, kTolerance * kernel.map + kRounding + kClock);
  EXPECT_NEAR(module.unmap, kernel.unmap, kTolerance * kernel.unmap + kRounding + kClock);
}

std::string shape_name(const testing::TestParamInfo<Shape>& shape) {
  return (shape.param.mode == kMapBenchmarkSg ? "sg" : "single") +
         std::to_string(shape.param.pages);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CrossCheck, testing::ValuesIn(kShapes), shape_name);

}  // namespace
}  // namespace pagemix::test
