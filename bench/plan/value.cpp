// SPDX-License-Identifier: Apache-2.0
#include "plan/value.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {
namespace {

constexpr std::uint64_t kMinBytes = 4096;

void require_once(const Value& value, const std::vector<std::string>& given) {
  std::set<std::string> seen;
  for (const std::string& word : given)
    if (!seen.insert(word).second) value.reject("\"" + word + "\" given twice", "each value once");
}

}  // namespace

void Value::reject(const std::string& problem, const std::string& allowed) const {
  throw UsageError(where + ": " + key + ": " + problem + "; allowed: " + allowed);
}

std::vector<std::string> words(const Value& value, std::span<const std::string> allowed) {
  const std::vector<std::string> given = any_words(value, join(allowed));
  for (const std::string& word : given)
    if (std::ranges::find(allowed, word) == allowed.end())
      value.reject("unknown value \"" + word + "\"", join(allowed));
  return given;
}

std::vector<std::string> any_words(const Value& value, const std::string& allowed) {
  const std::vector<std::string> given = split_words(value.text);
  if (given.empty()) value.reject("no value", allowed);
  require_once(value, given);
  return given;
}

std::vector<Size> sizes(const Value& value, std::uint64_t highest) {
  const std::string last = highest == kMaxBytes ? "64G" : std::to_string(highest >> 20) + "M";
  const std::string allowed = "multiples of 4K from 4K to " + last + ", as in 64K, 10M or 10485760";
  std::vector<Size> given;
  std::set<std::uint64_t> seen;
  for (const std::string& word : split_words(value.text)) {
    const auto bytes = parse_size(word);
    if (!bytes) value.reject("unreadable size \"" + word + "\"", allowed);
    if (*bytes < kMinBytes || *bytes > highest)
      value.reject("size \"" + word + "\" out of range", allowed);
    if (*bytes % kMinBytes != 0) value.reject("size \"" + word + "\" is no whole pages", allowed);
    if (!seen.insert(*bytes).second)
      value.reject("size \"" + word + "\" given twice", "each value once");
    given.push_back({word, *bytes});
  }
  if (given.empty()) value.reject("no value", allowed);
  return given;
}

std::uint64_t number(const Value& value, std::uint64_t lowest, std::uint64_t highest) {
  const std::string allowed = std::to_string(lowest) + ".." + std::to_string(highest);
  const auto given = parse_number(value.text);
  if (!given) value.reject("unreadable number \"" + value.text + "\"", allowed);
  if (*given < lowest || *given > highest)
    value.reject("number " + value.text + " out of range", allowed);
  return *given;
}

std::vector<std::uint32_t> numbers(const Value& value, std::uint64_t lowest,
                                   std::uint64_t highest) {
  std::vector<std::uint32_t> given;
  for (const std::string& word : split_words(value.text)) {
    const std::uint64_t one = number({value.key, word, value.where}, lowest, highest);
    given.push_back(static_cast<std::uint32_t>(one));
    if (std::ranges::count(given, given.back()) > 1)
      value.reject("\"" + word + "\" given twice", "each value once");
  }
  if (given.empty())
    value.reject("no value", std::to_string(lowest) + ".." + std::to_string(highest));
  return given;
}

}  // namespace pagemix::bench
