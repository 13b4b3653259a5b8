// SPDX-License-Identifier: Apache-2.0
// sync: the module's operations sync_begin and sync_end, dma_buf_begin_ and
// _end_cpu_access() while one attachment is mapped. They alternate; op:<which>
// tells the half that is timed. Where the device's DMA is coherent
// (context.pagemix.target.coherent) there is nothing to clean or invalidate;
// what is left is the walk over the attachments.
#include "families/direction.hpp"
#include "families/family.hpp"
#include "families/module_run.hpp"

namespace pagemix::bench {
namespace {

class Sync final : public Family {
 public:
  explicit Sync(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    return missing_operation(services_.device->module(), {"sync_begin", "sync_end"});
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    const std::string operation = "sync_" + item.part("op");
    Measurement result;
    result.samples = run_module(services_,
                                {.operation = operation.c_str(),
                                 .buffer_fd = pooled.buffer.fd(),
                                 .direction = direction_value(item.part("direction"))},
                                item.name(), block)
                         .samples;
    add_buffer_counters(result, pooled.info);
    result.counters["coherent"] = services_.device->module().info().coherent;
    return result;
  }

 private:
  Services services_;
};

const RegisterFamilies kRegistered({
    {.name = "sync",
     .help = "begin and end of CPU access to a mapped buffer (in the module)",
     .group = Group::kModule,
     .axes = {axis::bytes, axis::mix, axis::layout, axis::words("op", {"begin", "end"}),
              axis::words("direction", {"bidirectional", "to_device", "from_device"}),
              axis::domain},
     .parts = {"mix", "layout", "bytes", "op", "direction", "domain"},
     .make = make_family<Sync>},
});

}  // namespace

}  // namespace pagemix::bench
