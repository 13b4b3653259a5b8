// SPDX-License-Identifier: Apache-2.0
#include "result/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/text.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {
namespace {

// Counters "<prefix><number>", largest number first.
std::map<std::uint64_t, double, std::greater<>> numbered(
    const std::map<std::string, double>& counters, const std::string& prefix) {
  std::map<std::uint64_t, double, std::greater<>> found;
  for (const auto& [name, value] : counters) {
    if (!name.starts_with(prefix) || value == 0) continue;
    if (const auto number = parse_number(name.substr(prefix.size()))) found[*number] = value;
  }
  return found;
}

// A count that may be a mean: "10" or "9.5".
std::string count(double value) {
  const double tenth = std::round(value * 10) / 10;
  std::string text = std::to_string(static_cast<std::int64_t>(tenth));
  if (tenth != std::floor(tenth)) {
    text += '.';
    text += std::to_string(std::llround((tenth - std::floor(tenth)) * 10));
  }
  return text;
}

std::string grouped(double value) {
  std::string digits = std::to_string(std::llround(value));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string format_chunks(const std::map<std::string, double>& counters) {
  std::vector<std::string> parts;
  for (const auto& [order, chunks] : numbered(counters, "chunks_order"))
    parts.push_back(count(chunks) + " x 2^" + std::to_string(order));
  return join(parts);
}

std::string format_leaves(const std::map<std::string, double>& counters) {
  std::vector<std::string> parts;
  for (const auto& [bytes, leaves] : numbered(counters, "leaves_"))
    parts.push_back(count(leaves) + " x " + format_size(bytes));
  return join(parts);
}

std::string format_table(const std::vector<Case>& cases,
                         const std::map<std::string, Series>& series, ClockKind clock) {
  constexpr std::size_t kColumns = 8;
  using Row = std::array<std::string, kColumns>;
  const std::array<bool, kColumns> right = {false, false, false, true, true, true, false, false};
  std::vector<Row> rows = {
      {"family", "mix", "layout", "bytes", "median", "p90", "chunks", "leaves"}};
  for (const Case& item : cases) {
    const auto found = series.find(item.name());
    if (found == series.end() || found->second.samples.empty()) continue;
    const Summary summary = summarize(found->second.samples);
    const auto& counters = found->second.counters;
    rows.push_back({item.timer.empty() ? item.family + (item.cold ? " (cold)" : "")
                                       : item.family + " (" + item.timer + ")",
                    item.mix, item.layout, item.bytes == 0 ? "" : format_size(item.bytes),
                    grouped(summary.median), grouped(summary.p90), format_chunks(counters),
                    format_leaves(counters)});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text = "median and p90 in " + unit_name(clock) + "\n";
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (i != 0) line += "  ";
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += right[i] ? padding + row[i] : row[i] + padding;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace pagemix::bench
