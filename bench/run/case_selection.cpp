// SPDX-License-Identifier: Apache-2.0
#include "run/case_selection.hpp"

#include <regex.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

bool matches_filter(const std::string& filter, const std::string& name) {
  const bool negated = filter.starts_with('-');
  const std::string pattern = negated ? filter.substr(1) : filter;
  regex_t compiled;
  if (const int error = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    char text[256];
    regerror(error, &compiled, text, sizeof(text));
    throw UsageError("--benchmark_filter: unreadable \"" + pattern + "\" (" + text +
                     "); allowed: a POSIX extended regular expression");
  }
  const std::unique_ptr<regex_t, void (*)(regex_t*)> freed(&compiled, regfree);
  return (regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0) != negated;
}

bool CaseSelection::any(const std::function<bool(const Case&)>& of) const {
  return std::ranges::any_of(cases_, of);
}

bool CaseSelection::any(Group group) const {
  return any([&](const Case& item) { return item.group() == group; });
}

void CaseSelection::skip(const std::string& what, const std::string& why) {
  std::cerr << "pagemix: skipped " << what << ": " << why << '\n';
  recorder_.skip(what, why);
}

void CaseSelection::drop(const std::string& what, const std::string& why,
                         const std::function<bool(const Case&)>& of) {
  skip(what, why);
  std::erase_if(cases_, of);
}

void CaseSelection::drop_family(const std::string& family, const std::string& why) {
  drop(family, why, [&](const Case& item) { return item.family == family; });
}

void CaseSelection::drop_group(Group group, const std::string& why) {
  std::set<std::string> names;
  for (const Case& item : cases_)
    if (item.group() == group) names.insert(item.family);
  for (const std::string& name : names) drop_family(name, why);
}

void CaseSelection::drop_unfillable(const std::map<std::string, Mix>& mixes,
                                    std::uint64_t page_bytes) {
  std::set<std::string> told;
  std::erase_if(cases_, [&](const Case& item) {
    const auto mix = mixes.find(item.mix());
    if (mix == mixes.end() || !item.needs_module_heap()) return false;
    const std::uint64_t chunk = smallest_chunk(mix->second, page_bytes);
    if (item.bytes() % chunk == 0) return false;
    const std::string what = item.mix() + " of " + format_size(item.bytes());
    if (told.insert(what).second)
      skip(what, "its chunks are not smaller than " + format_size(chunk));
    return true;
  });
}

void CaseSelection::drop_unmeasurable(
    const std::map<std::string, std::unique_ptr<Family>>& families) {
  std::set<std::string> told;
  std::erase_if(cases_, [&](const Case& item) {
    const auto why = families.at(item.family)->unmeasurable(item);
    if (why && told.insert(why->what).second) skip(why->what, why->why);
    return why.has_value();
  });
}

}  // namespace pagemix::bench
