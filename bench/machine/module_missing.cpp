// SPDX-License-Identifier: Apache-2.0
#include "machine/module_missing.hpp"

#include <optional>

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

// modprobe looks in all of the folder; the file may be compressed. Links lead
// out of it, to the headers.
bool installed(const fs::path& modules) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(modules, error))
    if (entry.path().filename().string().starts_with("pagemix.ko")) return true;
  return false;
}

// "0.1.0" of usr/src/pagemix-0.1.0, where DKMS looks for sources.
std::optional<std::string> dkms_version(const fs::path& sources) {
  const std::string prefix = "pagemix-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sources, error))
    if (const std::string name = entry.path().filename().string();
        name.starts_with(prefix) && fs::exists(entry.path() / "dkms.conf"))
      return name.substr(prefix.size());
  return std::nullopt;
}

}  // namespace

ModuleMissing module_missing(const std::string& release, const fs::path& root) {
  const fs::path modules = root / "lib/modules" / release;
  const std::string headers = "linux-headers-" + release;
  if (installed(modules)) return {"module pagemix is not loaded", "modprobe pagemix"};
  const auto version = dkms_version(root / "usr/src");
  if (!version)
    return {"module pagemix is not installed",
            "apt-get install " + headers +
                " ./pagemix-dkms_*_all.deb && modprobe pagemix; without the package "
                "pagemix-dkms insmod pagemix.ko of a build"};
  if (!fs::exists(modules / "build"))  // a link to the headers; they bring DKMS's hook along
    return {"module pagemix is not built: pagemix-dkms needs " + headers,
            "apt-get install " + headers + " && modprobe pagemix"};
  return {"module pagemix is not built for " + release,
          "dkms install pagemix/" + *version + " -k " + release + " && modprobe pagemix"};
}

}  // namespace pagemix::bench
