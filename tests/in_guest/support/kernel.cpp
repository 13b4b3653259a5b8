// SPDX-License-Identifier: Apache-2.0
#include "support/kernel.hpp"

#include <drm.h>
#include <linux/udmabuf.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace pagemix::test {

const std::vector<NamedMix>& all_mixes() {
  static const std::vector<NamedMix> mixes = {
      {"order0", {{0, PAGEMIX_GFP_LOW}}},
      {"order4", {{4, PAGEMIX_GFP_MID}}},
      {"order8", {{8, PAGEMIX_GFP_MID}}},
      {"order9", {{9, PAGEMIX_GFP_MID}}},
      {"8-4-0", {{8, PAGEMIX_GFP_HIGH}, {4, PAGEMIX_GFP_HIGH}, {0, PAGEMIX_GFP_LOW}}},
      {"8-4-0-mid", {{8, PAGEMIX_GFP_HIGH}, {4, PAGEMIX_GFP_MID}, {0, PAGEMIX_GFP_LOW}}},
      {"8-0-0", {{8, PAGEMIX_GFP_HIGH}, {0, PAGEMIX_GFP_LOW}, {0, PAGEMIX_GFP_LOW}}},
      {"9-4-0", {{9, PAGEMIX_GFP_HIGH}, {4, PAGEMIX_GFP_HIGH}, {0, PAGEMIX_GFP_LOW}}},
  };
  return mixes;
}

Fd allocate(std::uint64_t bytes, const std::vector<pagemix_step>& steps, pagemix_layout layout) {
  Fd heap(open(kHeapNode, O_RDWR | O_CLOEXEC));
  if (!heap) return Fd();
  pagemix_alloc args = alloc_args(bytes, {}, layout);
  for (const pagemix_step& step : steps) args.steps[args.nsteps++] = step;
  if (ioctl(heap.get(), PAGEMIX_IOC_ALLOC, &args) < 0) return Fd();
  return Fd(args.fd);
}

Fd foreign_dmabuf(std::size_t bytes) {
  Fd memfd(memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Fd udmabuf(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  if (!memfd || !udmabuf) return Fd();
  if (ftruncate(memfd.get(), static_cast<off_t>(bytes)) < 0) return Fd();
  if (fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK) < 0) return Fd();
  udmabuf_create create{};
  create.memfd = static_cast<__u32>(memfd.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = bytes;
  return Fd(ioctl(udmabuf.get(), UDMABUF_CREATE, &create));
}

Fd vgem_card() {
  for (int minor = 0; minor < 8; minor++) {
    Fd card(open(("/dev/dri/card" + std::to_string(minor)).c_str(), O_RDWR | O_CLOEXEC));
    char name[16] = {};
    drm_version version{};
    version.name = name;
    version.name_len = sizeof(name) - 1;
    if (card && !call(card.get(), DRM_IOCTL_VERSION, &version) && !std::strcmp(name, "vgem"))
      return card;
  }
  return Fd();
}

Import::Import(int card, int dmabuf) : card_(card) {
  drm_prime_handle args{};
  args.fd = dmabuf;
  if (!call(card, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args)) handle_ = args.handle;
}

Import::~Import() {
  drm_gem_close args{};
  args.handle = handle_;
  if (handle_) call(card_, DRM_IOCTL_GEM_CLOSE, &args);
}

Fd export_handle(int card, std::uint32_t handle) {
  drm_prime_handle args{};
  args.handle = handle;
  args.flags = DRM_CLOEXEC | DRM_RDWR;
  return call(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args) ? Fd() : Fd(args.fd);
}

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int write_text(const std::string& path, const std::string& text) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  return write(fd.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::string edu_device() {
  const std::filesystem::path devices = "/sys/bus/pci/devices";
  for (const auto& entry : std::filesystem::directory_iterator(devices))
    if (read_line(entry.path() / "vendor") == "0x1234" &&
        read_line(entry.path() / "device") == "0x11e8")
      return entry.path().filename();
  return "";
}

int bind_driver(const std::string& bdf, const std::string& driver) {
  const std::string device = "/sys/bus/pci/devices/" + bdf;
  std::error_code ignored;
  if (std::filesystem::exists(device + "/driver", ignored))
    if (int err = write_text(device + "/driver/unbind", bdf)) return err;
  if (int err = write_text(device + "/driver_override", driver.empty() ? "\n" : driver)) return err;
  return driver.empty() ? 0 : write_text("/sys/bus/pci/drivers_probe", bdf);
}

long meminfo_kib(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  std::string name, rest;
  long value;
  while (file >> name >> value) {
    if (name == field + ":") return value;
    std::getline(file, rest);
  }
  return -1;
}

// MemFree does not count the pages on per-CPU lists, which can be many: since
// 6.7 these lists grow on their own.
static long per_cpu_lists_kib() {
  std::ifstream file("/proc/zoneinfo");
  std::string word;
  long pages = 0;
  bool pagesets = false;
  while (file >> word) {
    if (word == "Node") pagesets = false;
    if (word == "pagesets") pagesets = true;
    long count = 0;
    if (pagesets && word == "count:" && file >> count) pages += count;
  }
  return pages * (getpagesize() / 1024);
}

void shrink_slabs() {
  std::error_code none;
  for (const auto& cache : std::filesystem::directory_iterator("/sys/kernel/slab", none))
    write_text(cache.path() / "shrink", "1");
}

long settled_free_kib() {
  write_text("/proc/sys/vm/drop_caches", "3");
  shrink_slabs();
  return meminfo_kib("MemFree") + per_cpu_lists_kib();
}

int module_refcount(const std::string& module) {
  const std::string text = read_line("/sys/module/" + module + "/refcnt");
  return text.empty() ? -1 : std::atoi(text.c_str());
}

int unload_pagemix() { return syscall(SYS_delete_module, "pagemix", O_NONBLOCK) < 0 ? errno : 0; }

int load_pagemix() {
  const char* path = std::getenv("PAGEMIX_KO");
  Fd file(open(path ? path : "/lib/modules/pagemix.ko", O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  return syscall(SYS_finit_module, file.get(), "", 0) < 0 ? errno : 0;
}

}  // namespace pagemix::test
