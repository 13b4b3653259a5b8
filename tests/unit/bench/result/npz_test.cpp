// SPDX-License-Identifier: Apache-2.0
// samples.npz: read back by numpy, the same bytes every time.
#include "result/npz.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

const std::map<std::string, std::vector<double>> kArrays = {
    {"map_sgtable/mix:8-4-0/layout:scattered/bytes:10485760", {1747392, 0.5, -1, 1e300}},
    {"sample_cost/timer:user", {}},
    {"alloc/mix:order0/layout:buddy/bytes:65536", std::vector<double>(1000, 42)},
};

TEST(Npz, HeaderIsPaddedTo64Bytes) {
  for (std::size_t count : {0u, 1u, 9u, 10u, 1000u}) {
    const std::vector<double> values(count, 1);
    const std::string bytes = npy_bytes(values);
    EXPECT_EQ((bytes.size() - count * 8) % 64, 0u);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(bytes[bytes.size() - count * 8 - 1], '\n');
  }
}

TEST(Npz, NumpyReadsNamesAndValues) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "samples.npz";
  write_npz(file, kArrays);
  const auto result = test::run_command_line(
      "/usr/bin/python3 -c 'import numpy, sys\n"
      "z = numpy.load(sys.argv[1])\n"
      "for n in sorted(z.files): print(n, z[n].dtype, z[n].shape, *map(repr, "
      "z[n][:4].tolist()))' " +
      file.string());
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output,
            "alloc/mix:order0/layout:buddy/bytes:65536 float64 (1000,) 42.0 42.0 42.0 42.0\n"
            "map_sgtable/mix:8-4-0/layout:scattered/bytes:10485760 float64 (4,) 1747392.0 0.5 -1.0 "
            "1e+300\n"
            "sample_cost/timer:user float64 (0,)\n");
}

TEST(Npz, TheSameArraysGiveTheSameBytes) {
  const test::TemporaryFolder folder;
  write_npz(folder.path() / "a.npz", kArrays);
  write_npz(folder.path() / "b.npz", kArrays);
  EXPECT_EQ(test::read_file(folder.path() / "a.npz"), test::read_file(folder.path() / "b.npz"));
}

TEST(Npz, AnEmptyArchiveIsOne) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "samples.npz";
  write_npz(file, {});
  const auto result = test::run_command_line(
      "/usr/bin/python3 -c 'import numpy, sys; print(numpy.load(sys.argv[1]).files)' " +
      file.string());
  EXPECT_EQ(result.output, "[]\n");
}

TEST(Npz, AFolderThatIsNotThereIsNamed) {
  const std::string message =
      test::message_of<RunError>([] { write_npz("/no/such/folder/samples.npz", kArrays); });
  EXPECT_NE(message.find("/no/such/folder/samples.npz"), std::string::npos) << message;
}

}  // namespace
}  // namespace pagemix::bench
