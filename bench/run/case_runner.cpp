// SPDX-License-Identifier: Apache-2.0
#include "run/case_runner.hpp"

#include <system_error>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace pagemix::bench {
namespace {

// The errno value behind an error; 0: none.
int errnum_of(const std::exception& error) {
  if (const auto* own = dynamic_cast<const RunError*>(&error)) return own->errnum();
  if (const auto* system = dynamic_cast<const std::system_error*>(&error))
    return system->code().value();
  return 0;
}

}  // namespace

Ending CaseRunner::run(std::uint64_t seed, std::uint32_t blocks) {
  for (std::uint32_t block = 0; block < blocks; ++block)
    for (const std::size_t index : block_order(cases_, seed, block)) {
      ending_.interrupted = ending_.interrupted || Interrupt::requested();
      if (!ending_.complete()) return ending_;
      run_case(index, block);
    }
  return ending_;
}

void CaseRunner::run_case(std::size_t index, std::uint32_t block) {
  const std::string name = cases_[index].name();
  progress_.starts(name);
  if (const Measurement* kept = journal_.find(name, block))
    recorder_.add(name, index, block, *kept);
  else
    measure(name, index, block);
  progress_.finished(index);
}

void CaseRunner::measure(const std::string& name, std::size_t index, std::uint32_t block) {
  const Case& item = cases_[index];
  std::string device;
  try {
    device = ready_(item);
    const Measurement result = families_.at(item.family)->measure(item, block);
    recorder_.add(name, index, block, result);
    keep(name, block, result);
  } catch (const GivenUp&) {
    ending_.interrupted = true;
  } catch (const std::exception& error) {
    failed(name, device, error);
  }
}

void CaseRunner::keep(const std::string& name, std::uint32_t block, const Measurement& result) {
  try {
    journal_.add(name, block, result);
  } catch (const RunError& error) {
    ending_.failed = true;
    ending_.stopped = error.what();
  }
}

void CaseRunner::failed(const std::string& name, const std::string& device,
                        const std::exception& error) {
  ending_.failed = true;
  progress_.note("pagemix: " + name + ": " + error.what());
  recorder_.skip(name, error.what());
  if (errnum_of(error) == ENODEV && !device.empty())
    ending_.stopped = "device " + device + " has gone: it was unbound or removed during the run";
}

}  // namespace pagemix::bench
