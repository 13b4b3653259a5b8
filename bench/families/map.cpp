// SPDX-License-Identifier: Apache-2.0
// map_sgtable, unmap_sgtable: the module's operations of the same names. The
// kernel times each half of the map/unmap cycle; the samples come from its ring.
#include "error.hpp"
#include "families/direction.hpp"
#include "families/family.hpp"

namespace pagemix::bench {
namespace {

class Map final : public Family {
 public:
  explicit Map(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    const TargetClient& target = services_.device->module();
    for (const char* operation : {"map_sgtable", "unmap_sgtable"})
      if (!target.offers(operation))
        return "pagemix.ko " + std::string(target.info().module_version) + " has no operation " +
               operation;
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    const TargetClient& target = services_.device->module();
    const std::string name = item.name();
    TargetClient::Run run{.operation = item.family.c_str(),
                          .buffer_fd = pooled.buffer.fd(),
                          .direction = direction_value(services_.profile.direction),
                          .repetitions = services_.profile.warmup,
                          .flags = item.cold ? PAGEMIX_RUN_COLD : 0};
    // Warm-up is a run of its own, so that its IOMMU events stay outside of
    // the markers.
    if (!item.cold && services_.profile.warmup != 0) {
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
    predict(result, pooled, request.iova, target.info());
    return result;
  }

 private:
  void predict(Measurement& result, const PooledBuffer& pooled, std::uint64_t iova,
               const pagemix_target_info& info) const {
    if (info.domain != PAGEMIX_DOMAIN_STRICT && info.domain != PAGEMIX_DOMAIN_LAZY) {
      result.counters["iova"] = static_cast<double>(iova);
      return;  // nothing is mapped by an IOMMU: no leaves
    }
    const std::uint64_t sizes = info.pgsize_bitmap;
    const auto map_calls = plan_map(pooled.runs, iova, sizes);
    const auto unmap_calls = plan_unmap(map_calls, sizes, unmap_rules(services_, sizes));
    add_leaf_counters(result, map_calls, unmap_calls, iova);
    if (const auto rules = smmu_rules(services_))
      result.counters["tlbi_predicted"] =
          static_cast<double>(predict_smmuv3(map_calls, unmap_calls, sizes, *rules).tlbi);
  }

  Services services_;
};

}  // namespace

std::unique_ptr<Family> make_map(const Services& services) {
  return std::make_unique<Map>(services);
}

}  // namespace pagemix::bench
