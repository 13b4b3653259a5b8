// SPDX-License-Identifier: Apache-2.0
// numpy's archive format, written with libzip.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace pagemix::bench {

/// Bytes of a .npy file, version 1.0, of one little-endian float64 array.
std::string npy_bytes(std::span<const double> values);

/// Writes one array a name to @p file (replaced when it exists). The same
/// arrays give the same bytes: no time stamps. RunError names the file.
void write_npz(const std::filesystem::path& file,
               const std::map<std::string, std::vector<double>>& arrays);

}  // namespace pagemix::bench
