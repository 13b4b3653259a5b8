// SPDX-License-Identifier: Apache-2.0
// import: what it costs a DRM driver to take the buffer (op:import,
// drmPrimeFDToHandle()) and to let go of it (op:release, drmCloseBufferHandle()).
// The other half of the cycle is not timed. Drivers map at import, at first use
// or never: mapped and translated tell what this one did while it held the
// buffer. vgem has no device, so no IOMMU: the baseline.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <xf86drm.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "families/family.hpp"
#include "machine/clock.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

// Any names: which drivers there are is the kernel's to say.
std::vector<std::string> importers_of(const Value& value) {
  const std::string allowed = "names of DRM drivers, such as vgem; letters, digits, - and _";
  std::vector<std::string> given = any_words(value, allowed);
  for (const std::string& word : given)
    if (!std::ranges::all_of(
            word, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }))
      value.reject("unreadable name \"" + word + "\"", allowed);
  return given;
}

std::string driver_name(int card) {
  const std::unique_ptr<drmVersion, void (*)(drmVersionPtr)> version(drmGetVersion(card),
                                                                     drmFreeVersion);
  if (!version) return {};
  return {version->name, static_cast<std::size_t>(version->name_len)};
}

// The first card of each driver, by its name.
std::map<std::string, vfio::UniqueFd> open_cards() {
  std::vector<fs::path> nodes;
  std::error_code error;  // a kernel without DRM has no such folder
  for (const auto& entry : fs::directory_iterator("/dev/dri", error))
    if (entry.path().filename().string().starts_with("card")) nodes.push_back(entry.path());
  std::ranges::sort(nodes);
  std::map<std::string, vfio::UniqueFd> cards;
  for (const fs::path& node : nodes) {
    vfio::UniqueFd card(::open(node.c_str(), O_RDWR | O_CLOEXEC));
    if (!card) continue;
    cards.emplace(driver_name(card.get()), std::move(card));
  }
  return cards;
}

// What one import and release took and how it ended.
struct Cycle {
  std::uint64_t import_ns = 0;
  std::uint64_t release_ns = 0;
  int error = 0;  // positive errno value
};

Cycle cycle(int card, int buffer) noexcept {
  Cycle result;
  std::uint32_t handle = 0;
  const std::uint64_t begin = user_now_ns();
  if (drmPrimeFDToHandle(card, buffer, &handle) != 0) {
    result.error = errno;
    return result;
  }
  const std::uint64_t imported = user_now_ns();
  const std::uint64_t again = user_now_ns();
  if (drmCloseBufferHandle(card, handle) != 0) result.error = errno;
  const std::uint64_t end = user_now_ns();
  result.import_ns = imported - begin;
  result.release_ns = end - again;
  return result;
}

class Import final : public Family {
 public:
  explicit Import(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    cards_ = open_cards();
    return std::nullopt;
  }

  std::optional<Skipped> unmeasurable(const Case& item) const override {
    const std::string driver = item.part("driver");
    if (!cards_.contains(driver))
      return Skipped{"import/driver:" + driver, "no DRM device of this driver: modprobe " + driver +
                                                    ", or leave it out of importers"};
    std::uint64_t can = 0;
    if (drmGetCap(cards_.at(driver).get(), DRM_CAP_PRIME, &can) != 0 ||
        (can & DRM_PRIME_CAP_IMPORT) == 0)
      return Skipped{"import/driver:" + driver, "this driver imports no dma-bufs"};
    return std::nullopt;
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const PooledBuffer& pooled = services_.pool->get(item);
    const int card = cards_.at(item.part("driver")).get();
    const int buffer = pooled.buffer.fd();
    const std::string name = item.name();
    const bool wants_import = item.part("op") == "import";

    Measurement result;
    result.samples.resize(services_.profile.iterations);
    int error = 0;
    for (std::uint32_t i = 0; i < services_.profile.warmup && error == 0; ++i)
      error = cycle(card, buffer).error;
    if (error != 0) throw_measure_error("warm up " + name, error);
    services_.marker.begin(name, block);
    for (double& sample : result.samples) {
      const Cycle took = cycle(card, buffer);
      sample = static_cast<double>(wants_import ? took.import_ns : took.release_ns);
      if ((error = took.error) != 0) break;
    }
    services_.marker.end(name, block, services_.profile.iterations);
    if (error != 0) throw_measure_error("run " + name, error);
    add_buffer_counters(result, pooled.info);
    add_attachments(result, card, buffer, name);
    return result;
  }

 private:
  // Imports once more and asks the heap who has mapped the buffer.
  void add_attachments(Measurement& result, int card, int buffer, const std::string& name) const {
    std::uint32_t handle = 0;
    if (drmPrimeFDToHandle(card, buffer, &handle) != 0)
      throw_measure_error("import for " + name, errno);
    pagemix_buf_attachments held{};
    held.version = PAGEMIX_UAPI_VERSION;
    held.fd = buffer;
    const int error =
        ioctl(services_.heap->fd(), PAGEMIX_IOC_BUF_ATTACHMENTS, &held) != 0 ? errno : 0;
    drmCloseBufferHandle(card, handle);
    if (error != 0) throw_errno("count the attachments of " + name, error);
    result.counters["attached"] = held.attached;
    result.counters["mapped"] = held.mapped;
    result.counters["translated"] = held.translated;
  }

  Services services_;
  std::map<std::string, vfio::UniqueFd> cards_;
};

constexpr Key<importers_of> kImporters{"importers", "vgem cirrus", "import: DRM drivers, by name"};

const RegisterFamilies kRegistered({
    {.name = "import",
     .help = "PRIME import and release by a DRM driver (user-space clock)",
     .group = Group::kBuffer,
     .axes = {axis::bytes, axis::mix, axis::layout, axis::values("driver", kImporters),
              axis::words("op", {"import", "release"})},
     .parts = {"mix", "layout", "bytes", "driver", "op"},
     .keys = {&kImporters},
     .make = make_family<Import>},
});

}  // namespace

}  // namespace pagemix::bench
