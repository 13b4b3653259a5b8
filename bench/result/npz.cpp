// SPDX-License-Identifier: Apache-2.0
#include "result/npz.hpp"

#include <zip.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/error.hpp"

namespace pagemix::bench {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(double) == 8,
              "samples are written as they lie in memory, as '<f8'");

// Ends an archive without writing it, unless it was closed before.
struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

[[noreturn]] void fail(const std::string& file, zip_t* archive) {
  throw RunError("write " + file + ": " + zip_strerror(archive));
}

}  // namespace

std::string npy_bytes(std::span<const double> values) {
  // numpy/lib/format.py: magic, version 1.0, length of the header, a Python
  // literal padded with blanks so that the data starts at a multiple of 64.
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  constexpr std::size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const std::size_t data = bytes.size();
  bytes.resize(data + values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data() + data, values.data(), values.size_bytes());
  return bytes;
}

void write_npz(const std::filesystem::path& file,
               const std::map<std::string, std::vector<double>>& arrays) {
  if (arrays.empty()) {
    // libzip writes no archive without members. This is one: the end record
    // alone, as np.savez() without arrays writes it.
    std::ofstream empty(file, std::ios::binary | std::ios::trunc);
    empty << std::string("PK\x05\x06", 4) << std::string(18, '\0');
    if (!empty.flush()) throw RunError("write " + file.string() + ": cannot write");
    return;
  }
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw RunError("open " + file.string() + ": " + text);
  }
  std::vector<std::string> members;  // libzip reads them only when it closes
  members.reserve(arrays.size());
  for (const auto& [name, values] : arrays) {
    const std::string& bytes = members.emplace_back(npy_bytes(values));
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    if (source == nullptr) fail(file.string(), archive.get());
    const zip_int64_t index =
        zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(file.string(), archive.get());
    }
    // 1980-01-01 00:00, the earliest date of the format (MS-DOS: day 1, month 1).
    const auto member = static_cast<zip_uint64_t>(index);
    if (zip_file_set_dostime(archive.get(), member, 0, (1 << 5) | 1, 0) != 0 ||
        zip_set_file_compression(archive.get(), member, ZIP_CM_DEFLATE, 9) != 0)
      fail(file.string(), archive.get());
  }
  if (zip_close(archive.get()) != 0) fail(file.string(), archive.get());
  (void)archive.release();  // closed
}

}  // namespace pagemix::bench
