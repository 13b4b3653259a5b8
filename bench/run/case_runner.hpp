// SPDX-License-Identifier: Apache-2.0
// Measures the cases of a run, block by block.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/family.hpp"
#include "plan/cases.hpp"
#include "result/journal.hpp"
#include "result/recorder.hpp"
#include "run/progress.hpp"

namespace pagemix::bench {

/// How the measuring ended.
struct Ending {
  bool failed = false;       ///< a case did; its reason is among what was skipped
  bool interrupted = false;  ///< by a signal
  std::string stopped{};     ///< why the run could not go on; "": it did

  bool complete() const { return !interrupted && stopped.empty(); }
};

/// A case that fails is told and the next one runs. The run stops where no other
/// case could do better: its device has gone, or the journal cannot be written.
class CaseRunner {
 public:
  using Families = std::map<std::string, std::unique_ptr<Family>>;
  /// Readies the machine for a case; returns the name of the device that it needs, or "".
  using Ready = std::function<std::string(const Case&)>;

  /// All of it outlives the object. @p families has one of each case.
  CaseRunner(const std::vector<Case>& cases, const Families& families, Journal& journal,
             Recorder& recorder, Progress& progress, Ready ready)
      : cases_(cases),
        families_(families),
        journal_(journal),
        recorder_(recorder),
        progress_(progress),
        ready_(std::move(ready)) {}

  /// Every case once in each block, in the order of block_order().
  Ending run(std::uint64_t seed, std::uint32_t blocks);

 private:
  void run_case(std::size_t index, std::uint32_t block);
  void measure(const std::string& name, std::size_t index, std::uint32_t block);
  void failed(const std::string& name, const std::string& device, const std::exception& error);
  void keep(const std::string& name, std::uint32_t block, const Measurement& result);

  const std::vector<Case>& cases_;
  const Families& families_;
  Journal& journal_;
  Recorder& recorder_;
  Progress& progress_;
  Ready ready_;
  Ending ending_;
};

}  // namespace pagemix::bench
