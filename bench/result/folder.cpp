// SPDX-License-Identifier: Apache-2.0
#include "result/folder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "machine/environment.hpp"
#include "result/journal.hpp"

namespace pagemix::bench {

namespace fs = std::filesystem;

fs::path result_folder(const std::string& now, const std::string& machine,
                       const std::string& profile) {
  // A board without a battery for its clock starts in 1970, or when its system was built.
  constexpr const char* kFirstDay = "2024-01-01";
  const std::string day = now.substr(0, 10);
  if (day < kFirstDay)
    throw UsageError("this machine's clock says " + day +
                     ", by which no result folder is named; pass --out DIR, or set the clock");
  std::string name = day + "-" + machine + "-" + kernel_release() + "-" + profile;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ' '; }, '_');
  return fs::path("results") / name;
}

void require_free(const fs::path& folder) {
  if (const fs::path journal = Journal::file_in(folder); fs::exists(journal))
    throw UsageError(journal.string() +
                     " is of a run that ended early; pass --resume to go on with it, --force to "
                     "replace it or --out DIR for another folder");
  if (const fs::path run = folder / "run.json"; fs::exists(run))
    throw UsageError(run.string() +
                     " exists; pass --force to replace it or --out DIR for another folder");
}

}  // namespace pagemix::bench
