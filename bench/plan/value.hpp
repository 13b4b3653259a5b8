// SPDX-License-Identifier: Apache-2.0
// Values of keys in [run] and how they are read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pagemix::bench {

/// What was given for a key.
struct Value {
  std::string key;
  std::string text;
  std::string where;  ///< "quick.ini:4", "--bytes", "default"

  /// UsageError "<where>: <key>: <problem>; allowed: <allowed>".
  [[noreturn]] void reject(const std::string& problem, const std::string& allowed) const;
};

/// One size to measure, as written and in bytes.
struct Size {
  std::string text;
  std::uint64_t bytes = 0;
};

inline constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;

/// The readers below take one value or more, separated by blanks, unless they name
/// one. They reject no value, one that is not allowed, and one given twice.

/// Words of @p allowed.
std::vector<std::string> words(const Value& value, std::span<const std::string> allowed);

/// Any words; @p allowed is for the message of an empty value.
std::vector<std::string> any_words(const Value& value, const std::string& allowed);

/// Multiples of 4K from 4K to @p highest.
std::vector<Size> sizes(const Value& value, std::uint64_t highest = kMaxBytes);

/// One number.
std::uint64_t number(const Value& value, std::uint64_t lowest, std::uint64_t highest);

/// Numbers; @p highest below 2^32.
std::vector<std::uint32_t> numbers(const Value& value, std::uint64_t lowest, std::uint64_t highest);

}  // namespace pagemix::bench
