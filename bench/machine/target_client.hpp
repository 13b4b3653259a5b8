// SPDX-License-Identifier: Apache-2.0
// A device bound to pagemix.ko: its node, its sample ring, its operations.
#pragma once

#include <pagemix.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/memory.hpp"

namespace pagemix::bench {

class TargetClient {
 public:
  /// Opens /dev/pagemix/@p device and makes a ring for @p capacity samples.
  /// Waits up to two seconds for the node, which appears after binding.
  TargetClient(const std::string& device, std::uint32_t capacity);

  const pagemix_target_info& info() const { return info_; }
  const std::vector<std::string>& operations() const { return operations_; }
  bool offers(const std::string& operation) const;

  /// What one run does; repetitions at most the ring's capacity.
  struct Run {
    const char* operation = "";
    int buffer_fd = -1;
    std::uint32_t direction = 0;
    std::uint32_t repetitions = 1;
    std::uint32_t flags = 0;
    std::array<std::uint64_t, PAGEMIX_RUN_PARAMS> params{};
  };
  static pagemix_target_run request(const Run& run);
  /// One PAGEMIX_IOC_TARGET_RUN. 0 or a positive errno value.
  int try_run(pagemix_target_run& request) const noexcept;
  /// The first @p count samples of the last run in clock units.
  std::vector<double> samples(std::uint64_t count) const;
  /// The same as raw values of the counter.
  std::span<const pagemix_sample> raw_samples(std::uint64_t count) const;

 private:
  std::string name_;
  vfio::UniqueFd fd_;
  pagemix_target_info info_{};
  std::vector<std::string> operations_;
  vfio::MappedMemory ring_;
};

}  // namespace pagemix::bench
