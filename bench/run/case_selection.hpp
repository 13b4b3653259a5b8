// SPDX-License-Identifier: Apache-2.0
// The cases of a run that this machine can measure, and why others cannot be.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/family.hpp"
#include "plan/cases.hpp"
#include "plan/mixes.hpp"
#include "result/recorder.hpp"

namespace pagemix::bench {

/// Does @p name match a --benchmark_filter? POSIX extended regular expression,
/// a leading '-' negates, as Google Benchmark reads it. UsageError when
/// unreadable.
bool matches_filter(const std::string& filter, const std::string& name);

/// Begins with every case that was asked for. What is dropped is told once, on
/// standard error and in the result.
class CaseSelection {
 public:
  /// @p recorder outlives the object.
  CaseSelection(std::vector<Case> cases, Recorder& recorder)
      : cases_(std::move(cases)), recorder_(recorder) {}

  const std::vector<Case>& cases() const { return cases_; }
  bool any(Group group) const;
  bool any(const std::function<bool(const Case&)>& of) const;

  /// Tells that @p what is not measured; drops nothing.
  void skip(const std::string& what, const std::string& why);
  void drop(const std::string& what, const std::string& why,
            const std::function<bool(const Case&)>& of);
  void drop_family(const std::string& family, const std::string& why);
  /// Every family of the group.
  void drop_group(Group group, const std::string& why);
  /// Sizes that a mix without small orders cannot make of pages of @p page_bytes.
  void drop_unfillable(const std::map<std::string, Mix>& mixes, std::uint64_t page_bytes);
  /// What the families themselves say they cannot measure. @p families has one of
  /// each case.
  void drop_unmeasurable(const std::map<std::string, std::unique_ptr<Family>>& families);

 private:
  std::vector<Case> cases_;
  Recorder& recorder_;
};

}  // namespace pagemix::bench
