// SPDX-License-Identifier: Apache-2.0
// alloc, free: user-space time of one PAGEMIX_IOC_ALLOC, zeroing included, and of
// the close() that frees the buffer. One cycle a repetition; one half is timed.
#include <array>

#include "base/error.hpp"
#include "families/family.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {
namespace {

// What the heap reports, added up over the buffers of a block.
struct Totals {
  std::array<std::uint64_t, PAGEMIX_ORDERS> chunks{};
  std::array<std::uint64_t, PAGEMIX_ORDERS> fails{};
  std::array<std::uint64_t, PAGEMIX_ORDERS> ns{};
  std::uint64_t runs = 0;

  void add(const pagemix_buf_info& info) noexcept {
    for (std::size_t order = 0; order < PAGEMIX_ORDERS; ++order) {
      chunks[order] += info.chunks[order];
      fails[order] += info.order_fails[order];
      ns[order] += info.order_ns[order];
    }
    runs += info.nr_runs;
  }

  void report(std::map<std::string, double>& counters, std::uint32_t buffers) const {
    const auto put = [&](const std::string& key, std::uint64_t total) {
      if (total != 0) counters[key] = static_cast<double>(total) / buffers;
    };
    for (std::size_t order = 0; order < PAGEMIX_ORDERS; ++order) {
      const std::string suffix = "_order" + std::to_string(order);
      put("chunks" + suffix, chunks[order]);
      put("fails" + suffix, fails[order]);
      put("ns" + suffix, ns[order]);
    }
    put("runs", runs);
  }
};

class Alloc final : public Family {
 public:
  explicit Alloc(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override { return std::nullopt; }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const BufferSpec spec{.bytes = item.bytes(),
                          .steps = services_.mixes.at(item.mix()).steps,
                          .layout = layout_value(item.layout()),
                          .seed = services_.profile.seed};
    const pagemix_alloc request = HeapClient::request(spec);
    const std::uint32_t iterations = services_.profile.iterations;
    const bool wants_free = item.family == "free";
    Measurement result;
    result.samples.resize(iterations);
    Totals totals;
    int error = 0;
    double unused = 0;
    for (std::uint32_t i = 0; i < services_.profile.warmup && error == 0; ++i)
      error = cycle(request, wants_free, unused, totals);
    if (error != 0) throw_measure_error("allocate for " + item.name(), error);
    totals = {};
    services_.marker.begin(item.name(), block);
    for (std::uint32_t i = 0; i < iterations && error == 0; ++i)
      error = cycle(request, wants_free, result.samples[i], totals);
    services_.marker.end(item.name(), block, iterations);
    if (error != 0) throw_measure_error("allocate for " + item.name(), error);
    totals.report(result.counters, iterations);
    return result;
  }

 private:
  // Nothing but the file descriptor holds the buffer, so its pages are back when
  // close() returns.
  int cycle(pagemix_alloc request, bool wants_free, double& sample, Totals& totals) const noexcept {
    const std::uint64_t begin = user_now_ns();
    const int error = services_.heap->try_allocate(request);
    const std::uint64_t allocated = user_now_ns();
    if (error != 0) return error;
    vfio::UniqueFd buffer(request.fd);
    pagemix_buf_info info{};
    if (const int failed = buffer_info(services_.heap->fd(), buffer.get(), info)) return failed;
    totals.add(info);
    const std::uint64_t again = user_now_ns();
    buffer.reset();
    const std::uint64_t end = user_now_ns();
    sample = static_cast<double>(wants_free ? end - again : allocated - begin);
    return 0;
  }

  Services services_;
};

const RegisterFamilies kRegistered({
    {.name = "alloc",
     .help = "allocate and zero a buffer (user-space clock)",
     .axes = {axis::bytes, axis::mix, axis::layout},
     .parts = {"mix", "layout", "bytes"},
     .make = make_family<Alloc>},
    {.name = "free",
     .help = "free it: close() of its only file descriptor (user-space clock)",
     .axes = {axis::bytes, axis::mix, axis::layout},
     .parts = {"mix", "layout", "bytes"},
     .make = make_family<Alloc>},
});

}  // namespace

}  // namespace pagemix::bench
