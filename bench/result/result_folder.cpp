// SPDX-License-Identifier: Apache-2.0
#include "result/result_folder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "machine/environment.hpp"
#include "result/journal.hpp"

namespace pagemix::bench {

namespace fs = std::filesystem;

fs::path result_folder(const RunOptions& options, const std::string& machine,
                       const std::string& profile) {
  if (options.out) return *options.out;
  std::string name =
      utc_now().substr(0, 10) + "-" + machine + "-" + kernel_release() + "-" + profile;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ' '; }, '_');
  return fs::path("results") / name;
}

void require_free(const fs::path& folder, const RunOptions& options) {
  if (options.force || options.resume) return;
  if (const fs::path journal = Journal::file_in(folder); fs::exists(journal))
    throw UsageError(journal.string() +
                     " is of a run that ended early; pass --resume to go on with it, --force to "
                     "replace it or --out DIR for another folder");
  if (const fs::path run = folder / "run.json"; fs::exists(run))
    throw UsageError(run.string() +
                     " exists; pass --force to replace it or --out DIR for another folder");
}

}  // namespace pagemix::bench
