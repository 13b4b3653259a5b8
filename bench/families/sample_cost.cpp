// SPDX-License-Identifier: Apache-2.0
// sample_cost: what a sample contains besides the operation. timer:kernel is
// the module's operation "nop"; timer:user is two readings of the clock that
// the user-space families use. Shown beside the results, never subtracted here.
#include "clock.hpp"
#include "error.hpp"
#include "families/family.hpp"

namespace pagemix::bench {
namespace {

class SampleCost final : public Family {
 public:
  explicit SampleCost(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override { return std::nullopt; }

  Measurement measure(const Case& item, std::uint32_t block) override {
    return item.timer == "kernel" ? kernel(item, block) : user(item, block);
  }

 private:
  Measurement kernel(const Case& item, std::uint32_t block) const {
    const TargetClient& target = services_.device->module();
    TargetClient::Run run{.operation = "nop"};
    if (run.repetitions = services_.profile.warmup; run.repetitions != 0) {
      pagemix_target_run warmup = TargetClient::request(run);
      if (const int error = target.try_run(warmup))
        throw_measure_error("warm up " + item.name(), error);
    }
    run.repetitions = services_.profile.iterations;
    pagemix_target_run request = TargetClient::request(run);
    services_.marker.begin(item.name(), block);
    const int error = target.try_run(request);
    services_.marker.end(item.name(), block, run.repetitions);
    if (error != 0) throw_measure_error("run " + item.name(), error);
    return {target.samples(request.completed), {}};
  }

  Measurement user(const Case& item, std::uint32_t block) const {
    Measurement result;
    result.samples.resize(services_.profile.iterations);
    for (std::uint32_t i = 0; i < services_.profile.warmup; ++i) user_now_ns();
    services_.marker.begin(item.name(), block);
    for (double& sample : result.samples) {
      const std::uint64_t begin = user_now_ns();
      const std::uint64_t end = user_now_ns();
      sample = static_cast<double>(end - begin);
    }
    services_.marker.end(item.name(), block, services_.profile.iterations);
    return result;
  }

  Services services_;
};

}  // namespace

std::unique_ptr<Family> make_sample_cost(const Services& services) {
  return std::make_unique<SampleCost>(services);
}

}  // namespace pagemix::bench
