// SPDX-License-Identifier: Apache-2.0
// Text helpers and the readers of numbers and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagemix::bench {

/// Words of @p text, separated by blanks or commas; no empty ones.
std::vector<std::string> split_words(std::string_view text);

/// @p text without blanks at its ends.
std::string trim(std::string_view text);

/// "a, b, c"
std::string join(std::span<const std::string> words, std::string_view separator = ", ");

/// A whole decimal number and nothing else; nullopt for anything that is not,
/// or that does not fit.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// A size in bytes: a decimal number, alone or with one of the suffixes
/// K M G (powers of 1024), as in `64K` or `10M`. nullopt when unreadable or
/// above 2^64-1.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Bytes as a person writes them: "10 MiB", "64 KiB", "4097 B".
std::string format_size(std::uint64_t bytes);

/// "0x40201000"
std::string format_hex(std::uint64_t value);

}  // namespace pagemix::bench
