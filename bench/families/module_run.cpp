// SPDX-License-Identifier: Apache-2.0
#include "families/module_run.hpp"

namespace pagemix::bench {

ModuleRun run_module(const Services& services, TargetClient::Run run, const std::string& name,
                     std::uint32_t block) {
  const TargetClient& target = services.device->module();
  const bool cold = (run.flags & PAGEMIX_RUN_COLD) != 0;
  if (!cold && services.profile.warmup != 0) {
    run.repetitions = services.profile.warmup;
    pagemix_target_run warmup = TargetClient::request(run);
    if (const int error = target.try_run(warmup)) throw_measure_error("warm up " + name, error);
  }
  run.repetitions = services.profile.iterations;
  pagemix_target_run request = TargetClient::request(run);
  services.marker.begin(name, block);
  const int error = target.try_run(request);
  services.marker.end(name, block, run.repetitions);
  if (error != 0) throw_measure_error("run " + name, error);
  return {target.samples(request.completed), request.iova, request.nr_mapped};
}

std::optional<std::string> missing_operation(const TargetClient& target,
                                             std::initializer_list<const char*> operations) {
  for (const char* operation : operations)
    if (!target.offers(operation))
      return "pagemix.ko " + std::string(target.info().module_version) + " has no operation " +
             operation;
  return std::nullopt;
}

}  // namespace pagemix::bench
