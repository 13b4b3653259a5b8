// SPDX-License-Identifier: Apache-2.0
#include "plan/mixes.hpp"

#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/page_order.hpp"
#include "base/text.hpp"

namespace pagemix::bench {
namespace {

constexpr std::array<std::string_view, 3> kGfpNames = {"low", "mid", "high"};
static_assert(PAGEMIX_GFP_LOW == 0 && PAGEMIX_GFP_MID == 1 && PAGEMIX_GFP_HIGH == 2);

// A number is an order; a size such as 64K is the order of that many bytes with
// this kernel's pages, 0 where a page is larger.
std::optional<std::uint64_t> parse_order(const std::string& text) {
  if (const auto order = parse_number(text)) return order;
  const auto bytes = parse_size(text);
  if (!bytes || !std::has_single_bit(*bytes)) return std::nullopt;
  return order_of(*bytes);
}

pagemix_step parse_step(const std::string& word, const std::string& where, unsigned max_order) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos)
    throw UsageError(where + ": unreadable step \"" + word +
                     "\"; allowed: ORDER:CLASS, as in 8:high");
  const auto order = parse_order(word.substr(0, colon));
  if (!order || *order > max_order)
    throw UsageError(where + ": order \"" + word.substr(0, colon) + "\" of step \"" + word +
                     "\"; allowed: 0.." + std::to_string(max_order) +
                     ", or a power of two in bytes of at most that order, as 64K");
  const std::string gfp = word.substr(colon + 1);
  for (std::size_t value = 0; value < kGfpNames.size(); ++value)
    if (gfp == kGfpNames[value]) return {static_cast<__u32>(*order), static_cast<__u32>(value)};
  throw UsageError(where + ": unknown GFP class \"" + gfp + "\" of step \"" + word +
                   "\"; allowed: low, mid, high");
}

}  // namespace

std::string format_steps(const Mix& mix) {
  std::string text;
  for (const pagemix_step& step : mix.steps) {
    if (!text.empty()) text += ' ';
    text += std::to_string(step.order) + ":";
    text += kGfpNames.at(step.gfp);
  }
  return text;
}

std::uint64_t smallest_chunk(const Mix& mix, std::uint64_t page_bytes) {
  return page_bytes << mix.steps.back().order;
}

std::vector<pagemix_step> parse_steps(const std::string& text, const std::string& where,
                                      unsigned max_order) {
  const std::vector<std::string> words = split_words(text);
  if (words.empty() || words.size() > PAGEMIX_MAX_STEPS)
    throw UsageError(where + ": " + std::to_string(words.size()) + " steps; allowed: 1.." +
                     std::to_string(PAGEMIX_MAX_STEPS));
  std::vector<pagemix_step> steps;
  for (const std::string& word : words) {
    const pagemix_step step = parse_step(word, where, max_order);
    if (!steps.empty() && step.order > steps.back().order)
      throw UsageError(where + ": step \"" + word + "\" after order " +
                       std::to_string(steps.back().order) + "; allowed: orders never increase");
    steps.push_back(step);
  }
  return steps;
}

std::vector<Mix> mixes_of(const Ini& ini, unsigned max_order) {
  std::vector<Mix> mixes;
  for (const IniSection& section : ini.sections) {
    // The name becomes a part of benchmark names.
    if (section.name.find_first_of("/: \t,") != std::string::npos)
      throw UsageError(section.where + ": mix name \"" + section.name +
                       "\"; allowed: no blank, comma, colon or slash");
    mixes.push_back({section.name, {}, section.where});
  }
  for (const IniEntry& entry : ini.entries) {
    if (entry.section.empty())
      throw UsageError(entry.where + ": key \"" + entry.key + "\" outside of a [mix] section");
    if (entry.key != "steps")
      throw UsageError(entry.where + ": unknown key \"" + entry.key + "\" of mix [" +
                       entry.section + "]; allowed: steps");
    for (Mix& mix : mixes) {
      if (mix.name != entry.section) continue;
      mix.steps = parse_steps(entry.value, entry.where, max_order);
      mix.where = entry.where;
    }
  }
  for (const Mix& mix : mixes)
    if (mix.steps.empty())
      throw UsageError(mix.where + ": mix [" + mix.name + "] without the key steps");
  return mixes;
}

std::vector<Mix> load_mixes(const std::filesystem::path& file, unsigned max_order) {
  std::vector<Mix> mixes = mixes_of(read_ini(file), max_order);
  if (mixes.empty())
    throw UsageError(file.string() + ": no mix; allowed: one [mix] section or more");
  return mixes;
}

}  // namespace pagemix::bench
