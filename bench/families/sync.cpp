// SPDX-License-Identifier: Apache-2.0
// sync: the module's operations sync_begin and sync_end, dma_buf_begin_ and
// _end_cpu_access() while one attachment is mapped. They alternate; op:<which>
// tells the half that is timed. Where the device's DMA is coherent
// (context.pagemix.target.coherent) there is nothing to clean or invalidate;
// what is left is the walk over the attachments.
#include "error.hpp"
#include "families/direction.hpp"
#include "families/family.hpp"

namespace pagemix::bench {
namespace {

class Sync final : public Family {
 public:
  explicit Sync(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    const TargetClient& target = services_.device->module();
    for (const char* operation : {"sync_begin", "sync_end"})
      if (!target.offers(operation))
        return "pagemix.ko " + std::string(target.info().module_version) + " has no operation " +
               operation;
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    const TargetClient& target = services_.device->module();
    const std::string name = item.name();
    const std::string operation = "sync_" + item.part("op");
    TargetClient::Run run{.operation = operation.c_str(),
                          .buffer_fd = pooled.buffer.fd(),
                          .direction = direction_value(item.part("direction")),
                          .repetitions = services_.profile.warmup};
    if (run.repetitions != 0) {
      pagemix_target_run warmup = TargetClient::request(run);
      if (const int error = target.try_run(warmup)) throw_measure_error("warm up " + name, error);
    }
    run.repetitions = services_.profile.iterations;
    pagemix_target_run request = TargetClient::request(run);
    services_.marker.begin(name, block);
    const int error = target.try_run(request);
    services_.marker.end(name, block, run.repetitions);
    if (error != 0) throw_measure_error("run " + name, error);

    Measurement result;
    result.samples = target.samples(request.completed);
    add_buffer_counters(result, pooled.info);
    result.counters["coherent"] = target.info().coherent;
    return result;
  }

 private:
  Services services_;
};

}  // namespace

std::unique_ptr<Family> make_sync(const Services& services) {
  return std::make_unique<Sync>(services);
}

}  // namespace pagemix::bench
