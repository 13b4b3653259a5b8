// SPDX-License-Identifier: Apache-2.0
// fault_sweep: in each of the module's paths the first, second, third ...
// allocation or user copy fails, once, until the call gets by without. Each call
// must then fail with a fitting errno or do without, and leave nothing behind.
// Needs a kernel with fault injection, QEMU's edu device, vgem, the module's file.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>

#include "fault_sweep/injector.hpp"
#include "fault_sweep/paths.hpp"
#include "support/health.hpp"

namespace pagemix::test {
namespace {

// No path has as many places that can fail.
constexpr unsigned kMostFailures = 20000;

// dma-debug turns itself off when its own allocations fail: in one function.
Code left_out(const Path& path) {
  if (!path.leave_out.empty()) return function_code(path.leave_out);
  return access("/sys/kernel/debug/dma-api", F_OK) ? Code{} : function_code("add_dma_entry");
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    n++;
  return n;
}

// The sections of a sweep; what they hold is open from begin to end.
class Sweep {
 public:
  Sweep() : card_(vgem_card()) {
    stage_.bdf = edu_device();
    if (stage_.bdf.empty()) throw std::runtime_error("no edu device (1234:11e8) in this machine");
    if (!card_) throw std::runtime_error("no vgem device: load the kernel's vgem module");
    stage_.node = "/dev/pagemix/" + stage_.bdf;
    stage_.card = card_.get();
    set_up();
  }
  ~Sweep() { tear_down(); }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// All paths; returns whether all failed as they should.
  bool run() {
    bool good = true;
    for (const Path& path : all_paths(stage_)) good = sweep(path) && good;
    tear_down();
    for (const std::string& object : live_objects("pagemix")) {
      std::cerr << "fault_sweep: the module has not freed " << object << "\n";
      good = false;
    }
    return good;
  }

 private:
  void set_up() {
    if (const int err = bind_driver(stage_.bdf, "pagemix"))
      throw std::runtime_error("bind: " + std::string(std::strerror(err)));
    heap_ = Fd(open(kHeapNode, O_RDWR | O_CLOEXEC));
    buffer_ = allocate(64 << 10, {{0, PAGEMIX_GFP_LOW}}, PAGEMIX_LAYOUT_SCATTERED);
    if (!heap_ || !buffer_) throw std::runtime_error("no buffer from the heap");
    stage_.heap = heap_.get();
    stage_.buffer = buffer_.get();
  }
  void tear_down() {
    heap_.reset();
    buffer_.reset();
    bind_driver(stage_.bdf, "");
  }

  std::uint32_t attached() const {
    pagemix_buf_attachments args{};
    args.version = PAGEMIX_UAPI_VERSION;
    args.fd = stage_.buffer;
    if (call(stage_.heap, PAGEMIX_IOC_BUF_ATTACHMENTS, &args))
      throw std::runtime_error("PAGEMIX_IOC_BUF_ATTACHMENTS: " + std::string(std::strerror(errno)));
    return args.attached;
  }

  bool sweep(const Path& path) {
    const Code inside =
        path.loads_module ? function_code("do_init_module") : module_code("pagemix");
    injector_.only(inside, left_out(path));
    if (path.loads_module) tear_down();
    std::set<int> answers;
    unsigned n = 1;
    bool came = true, good = true;
    for (; came && n < kMostFailures; n++) {
      came = false;
      const std::size_t before = open_descriptors();
      const int err =
          path.attempt(stage_, {[&] { injector_.arm(n); }, [&] { came = injector_.disarm(); }});
      if (came) answers.insert(err);
      good = judge(path, n, came, err, before) && good;
    }
    if (path.loads_module) set_up();
    std::printf("  %-24s %5u failed:", path.name.c_str(), n - 2);
    for (const int err : answers) std::printf(" %s", err ? strerrorname_np(err) : "ok");
    std::printf("\n");
    if (n == kMostFailures) return complain(path, n, "has no end");
    return good;
  }

  bool judge(const Path& path, unsigned n, bool came, int err, std::size_t descriptors) const {
    if (!came && err)
      return complain(path, n, std::string("no failure, but ") + std::strerror(err));
    if (err && err != ENOMEM && err != EFAULT && err != path.also)
      return complain(path, n, std::string("answers ") + std::strerror(err));
    if (open_descriptors() != descriptors) return complain(path, n, "leaves a descriptor open");
    if (!path.loads_module && attached()) return complain(path, n, "leaves an attachment");
    return true;
  }

  static bool complain(const Path& path, unsigned n, const std::string& what) {
    std::cerr << "fault_sweep: " << path.name << ", failure " << n << ": " << what << "\n";
    return false;
  }

  Injector injector_;
  Stage stage_;
  Fd card_;
  Fd heap_;
  Fd buffer_;
};

int run() {
  std::printf("checkers: %s\n", Health::checkers().c_str());
  const Health health;
  bool good = true;
  Memory before;
  // The first sweep fills the kernel's caches.
  for (const char* title : {"first", "second"}) {
    std::printf("%s sweep\n", title);
    before = Memory::settled();
    good = Sweep().run() && good;
  }
  const Memory after = Memory::settled();
  std::printf("free %ld KiB before the second, %ld after; slabs %ld KiB before, %ld after\n",
              before.free_kib, after.free_kib, before.slab_kib, after.slab_kib);
  std::fflush(stdout);
  std::vector<std::string> problems = health.problems();
  if (const std::string growth = memory_growth(before, after); !growth.empty())
    problems.push_back(growth);
  for (const std::string& problem : problems) std::cerr << "fault_sweep: " << problem << "\n";
  return good && problems.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pagemix::test

int main(int argc, char**) {
  if (argc > 1) {
    std::cerr << "usage: fault_sweep\nExit code: 0 all is well, 1 something is not, 2 bad input.\n";
    return 2;
  }
  try {
    return pagemix::test::run();
  } catch (const std::exception& error) {
    std::cerr << "fault_sweep: " << error.what() << "\n";
    return 1;
  }
}
