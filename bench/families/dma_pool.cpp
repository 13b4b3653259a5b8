// SPDX-License-Identifier: Apache-2.0
// dma_pool: the module's operations pool_alloc and pool_free, all blocks that a
// number of pages holds. They alternate; op:<which> tells the half that is timed.
#include <pagemix.h>

#include "families/family.hpp"
#include "families/module_run.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {
namespace {

std::uint64_t free_order(const std::string& name) {
  if (name == "reversed") return PAGEMIX_FREE_REVERSED;
  return name == "random" ? PAGEMIX_FREE_RANDOM : PAGEMIX_FREE_IN_ORDER;
}

class DmaPool final : public Family {
 public:
  explicit DmaPool(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    return missing_operation(services_.device->module(), {"pool_alloc", "pool_free"});
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const std::string operation = "pool_" + item.part("op");
    TargetClient::Run run{.operation = operation.c_str(),
                          .flags = item.cold ? PAGEMIX_RUN_COLD : 0};
    run.params[PAGEMIX_POOL_BLOCK] = item.number("block");
    run.params[PAGEMIX_POOL_ALIGN] = item.number("align");
    run.params[PAGEMIX_POOL_PAGES] = item.number("pages");
    run.params[PAGEMIX_POOL_ORDER] = free_order(item.part("free"));
    if (item.part("free") == "random") run.params[PAGEMIX_POOL_SEED] = services_.profile.seed;
    const ModuleRun done = run_module(services_, run, item.name(), block);
    Measurement result;
    result.samples = done.samples;
    result.counters["blocks"] = static_cast<double>(done.nr_mapped);
    result.counters["block_cost"] =
        summarize(done.samples).median / static_cast<double>(done.nr_mapped);
    return result;
  }

 private:
  Services services_;
};

}  // namespace

std::unique_ptr<Family> make_dma_pool(const Services& services) {
  return std::make_unique<DmaPool>(services);
}

}  // namespace pagemix::bench
