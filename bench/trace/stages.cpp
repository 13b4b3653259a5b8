// SPDX-License-Identifier: Apache-2.0
#include "trace/stages.hpp"

#include <algorithm>

namespace pagemix::bench {

StageTimes& StageTimes::operator+=(const StageTimes& more) {
  calls += more.calls;
  total += more.total;
  for (const auto& [stage, ns] : more.parts) parts[stage] += ns;
  return *this;
}

StageTimes stage_times(int pid, std::span<const CallEvent> events,
                       std::span<const std::string> names, const std::string& root,
                       std::span<const StageFunction> stages) {
  StageTimes result;
  std::map<std::string, double> call;    // parts of the call of root that is open
  std::vector<const CallEvent*> nested;  // [0] is root's begin
  for (const CallEvent& event : events) {
    if (event.pid != pid) continue;
    const std::string& name = names[event.function];
    if (event.begin) {
      if (name == root) {  // an earlier one without its end is dropped
        nested.clear();
        call.clear();
      }
      if (name == root || !nested.empty()) nested.push_back(&event);
      continue;
    }
    while (!nested.empty() && nested.back()->function != event.function) nested.pop_back();
    if (nested.empty()) continue;
    const auto passed = static_cast<double>(event.ns - nested.back()->ns);
    nested.pop_back();
    if (nested.empty()) {
      ++result.calls;
      result.total += passed;
      for (const auto& [stage, ns] : call) result.parts[stage] += ns;
    } else if (nested.size() == 1) {
      const auto found = std::ranges::find(
          stages, name, [](const StageFunction& s) { return std::string(s.function); });
      if (found != stages.end()) call[found->stage] += passed;
    }
  }
  return result;
}

}  // namespace pagemix::bench
