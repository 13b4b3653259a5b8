// SPDX-License-Identifier: Apache-2.0
// A family that no other file knows: this one is all that a family takes. It counts
// down from a number, its axis, and needs neither module nor device.
#include "families/family.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {
namespace {

class Countdown final : public Family {
 public:
  explicit Countdown(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override { return std::nullopt; }

  Measurement measure(const Case& item, std::uint32_t block) override {
    Measurement result;
    result.samples.resize(services_.profile.iterations);
    services_.marker.begin(item.name(), block);
    for (double& sample : result.samples) {
      const std::uint64_t begin = user_now_ns();
      for (volatile std::uint64_t left = item.number("from"); left != 0;) left = left - 1;
      sample = static_cast<double>(user_now_ns() - begin);
    }
    services_.marker.end(item.name(), block, services_.profile.iterations);
    result.counters["steps"] = static_cast<double>(item.number("from"));
    return result;
  }

 private:
  Services services_;
};

std::vector<std::uint32_t> starts_of(const Value& value) { return numbers(value, 1, 1000000); }

constexpr Key<starts_of> kStarts{"countdown_starts", "10 1000", "countdown: numbers, 1..1000000"};

const RegisterFamilies kRegistered({
    {.name = "countdown",
     .help = "count down from a number",
     .axes = {axis::values("from", kStarts)},
     .parts = {"from"},
     .keys = {&kStarts},
     .make = make_family<Countdown>},
});

}  // namespace
}  // namespace pagemix::bench
