// SPDX-License-Identifier: Apache-2.0
// sample_cost: what a sample contains besides the operation. timer:kernel is
// the module's operation "nop"; timer:user is two readings of the clock that
// the user-space families use. Shown beside the results, never subtracted here.
#include "families/family.hpp"
#include "families/module_run.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {
namespace {

class SampleCost final : public Family {
 public:
  explicit SampleCost(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override { return std::nullopt; }

  Measurement measure(const Case& item, std::uint32_t block) override {
    return item.part("timer") == "kernel" ? kernel(item, block) : user(item, block);
  }

 private:
  Measurement kernel(const Case& item, std::uint32_t block) const {
    return {run_module(services_, {.operation = "nop"}, item.name(), block).samples, {}};
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

const RegisterFamilies kRegistered({
    {.name = "sample_cost",
     .help = "what a sample contains besides the operation",
     .axes = {axis::words("timer", {"kernel", "user"})},
     .parts = {"timer"},
     .make = make_family<SampleCost>,
     .group_of =
         [](const Case& item) {
           return item.part("timer") == "kernel" ? Group::kModule : Group::kNone;
         }},
});

}  // namespace

}  // namespace pagemix::bench
