// SPDX-License-Identifier: Apache-2.0
#include "result/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

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

using Row = std::vector<std::string>;

const Part* find_part(const Case& item, const std::string& key) {
  const auto found = std::ranges::find(item.parts, key, &Part::key);
  return found == item.parts.end() ? nullptr : &*found;
}

std::string part_cell(const Case& item, const std::string& key) {
  const Part* part = find_part(item, key);
  if (part == nullptr) return {};
  if (key == "bytes") return format_size(item.bytes());
  return part->text.empty() ? part->value : part->text;
}

// Whether two cases that have the part differ in it.
bool differs(const std::vector<Case>& cases, const std::string& key) {
  const Part* first = nullptr;
  for (const Case& item : cases) {
    const Part* part = find_part(item, key);
    if (part == nullptr) continue;
    if (first != nullptr && part->value != first->value) return true;
    first = part;
  }
  return false;
}

// The buffer's parts, and every part that tells rows apart, each after the one that
// comes before it in a name.
std::vector<std::string> part_columns(const std::vector<Case>& cases) {
  std::vector<std::string> keys;
  for (const Case& item : cases) {
    auto place = keys.begin();
    for (const Part& part : item.parts) {
      auto found = std::ranges::find(keys, part.key);
      if (found == keys.end()) found = keys.insert(place, part.key);
      place = found + 1;
    }
  }
  std::erase_if(keys, [&](const std::string& key) {
    return key != "mix" && key != "layout" && key != "bytes" && !differs(cases, key);
  });
  return keys;
}

// Columns of numbers stand to the right.
bool is_right(const std::string& heading) {
  return heading == "bytes" || heading == "median" || heading == "p90";
}

std::string format_rows(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) line += "  ";
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += is_right(rows.front()[i]) ? padding + row[i] : row[i] + padding;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
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
  std::vector<Case> measured;
  for (const Case& item : cases)
    if (const auto found = series.find(item.name());
        found != series.end() && !found->second.samples.empty())
      measured.push_back(item);
  const std::vector<std::string> keys = part_columns(measured);
  std::vector<Row> rows(1);
  rows[0] = {"family"};
  rows[0].insert(rows[0].end(), keys.begin(), keys.end());
  rows[0].insert(rows[0].end(), {"median", "p90", "chunks", "leaves"});
  for (const Case& item : measured) {
    const Series& found = series.at(item.name());
    const Summary summary = summarize(found.samples);
    Row row = {item.family};
    for (const std::string& key : keys) row.push_back(part_cell(item, key));
    row.insert(row.end(), {grouped(summary.median), grouped(summary.p90),
                           format_chunks(found.counters), format_leaves(found.counters)});
    rows.push_back(std::move(row));
  }
  return "median and p90 in " + unit_name(clock) + "\n" + format_rows(rows);
}

}  // namespace pagemix::bench
