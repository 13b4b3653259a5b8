// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <charconv>
#include <limits>

namespace pagemix::bench {

std::vector<std::string> split_words(std::string_view text) {
  constexpr std::string_view kSeparators = " \t,";
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;
       at = text.find_first_not_of(kSeparators, at)) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 10);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  const auto value = parse_number(text);
  if (!value || *value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *value << shift;
}

std::string format_size(std::uint64_t bytes) {
  struct Unit {
    unsigned shift;
    const char* name;
  };
  for (const Unit unit : {Unit{30, "GiB"}, Unit{20, "MiB"}, Unit{10, "KiB"}}) {
    const std::uint64_t mask = (std::uint64_t{1} << unit.shift) - 1;
    if (bytes > mask && (bytes & mask) == 0)
      return std::to_string(bytes >> unit.shift) + " " + unit.name;
  }
  return std::to_string(bytes) + " B";
}

std::string format_hex(std::uint64_t value) {
  char digits[17];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value, 16);
  (void)error;  // 16 digits always fit
  return "0x" + std::string(digits, end);
}

}  // namespace pagemix::bench
