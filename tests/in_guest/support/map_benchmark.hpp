// SPDX-License-Identifier: Apache-2.0
// The kernel's own benchmark of the streaming DMA API, CONFIG_DMA_MAP_BENCHMARK:
// a PCI driver by driver_override that puts one file into debugfs.
// include/uapi/linux/map_benchmark.h of Linux 7.3, which user space headers of
// this project's hosts do not have.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace pagemix::test {

inline constexpr char kMapBenchmarkDriver[] = "dma_map_benchmark";
inline constexpr char kMapBenchmarkFile[] = "/sys/kernel/debug/dma_map_benchmark";
inline constexpr double kMapBenchmarkUnitNs = 100;  // of its averages, rounded down

enum MapBenchmarkMode : std::uint8_t { kMapBenchmarkSingle = 0, kMapBenchmarkSg = 1 };

struct map_benchmark {
  std::uint64_t avg_map_100ns;  ///< out: mean of samples each rounded down, itself rounded down
  std::uint64_t map_stddev;     ///< out: 100 ns
  std::uint64_t avg_unmap_100ns;
  std::uint64_t unmap_stddev;
  std::uint32_t threads;  ///< 1..1024
  std::uint32_t seconds;  ///< 1..300
  std::int32_t node;      ///< -1: any
  std::uint32_t dma_bits;
  std::uint32_t dma_dir;  ///< as enum dma_data_direction
  std::uint32_t dma_trans_ns;
  std::uint32_t granule;  ///< pages of an operation, 1..1024; in SG mode one an entry
  std::uint8_t map_mode;  ///< enum MapBenchmarkMode
  std::uint8_t expansion[75];
};
static_assert(sizeof(map_benchmark) == 136);

inline constexpr unsigned long kMapBenchmarkRun = _IOWR('d', 1, map_benchmark);

}  // namespace pagemix::test
