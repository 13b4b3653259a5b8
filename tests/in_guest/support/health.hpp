// SPDX-License-Identifier: Apache-2.0
// Whether the kernel is as well after a test as before it: memory, slabs,
// reports. What the kernel says on its console is the host's to read.
#pragma once

#include <string>
#include <vector>

namespace pagemix::test {

/// Memory that is in use when nothing runs, in KiB.
struct Memory {
  /// MemFree and per-CPU lists, caches dropped, and iommu_kib: what the tables take
  /// and give comes and goes.
  long free_kib = 0;
  long slab_kib = 0;  ///< SUnreclaim
  /// Page tables of IOMMU domains (SecPageTables, since Linux 6.11; else 0). The device's
  /// own domain keeps the tables of ranges that are in part in use or cached.
  long iommu_kib = 0;

  /// Waits until what is freed late (RCU, work queues) is free, then measures.
  static Memory settled();
};

/// What went wrong since a moment, each as a sentence; empty if nothing.
class Health {
 public:
  /// Remembers the kernel's taints.
  Health();

  /// Taints since (warnings, oopses, bad pages), errors of DMA_API_DEBUG, leaks
  /// that kmemleak finds in two scans (needs 12 s of the guest's time). A checker
  /// that the kernel lacks is left out; checkers() names those it has.
  std::vector<std::string> problems() const;

  /// As said, for the log: "kmemleak, dma-debug", or "none".
  static std::string checkers();

 private:
  std::string taints_;
};

/// Slab objects that a module's functions allocated and nobody freed, a line each:
/// count and function. Needs the kernel's slab_debug=U (else none are seen) and the
/// module still loaded, as the lines are symbols.
std::vector<std::string> live_objects(const std::string& module);

/// How much memory may be gone after a test that leaks nothing, in KiB: a lost buffer
/// is 10 MiB, a lost page in each of 500 rounds 2 MiB; without a loss free memory
/// moves by less than 300 KiB, up and down. KASAN and kmemleak keep a record of each
/// new place that allocates: 2.6 MiB in 100,000 calls of ioctl_fuzz.
long growth_bound_kib();

/// "" if `now` took no more than growth_bound_kib() of free memory and of slabs since
/// `before`, and its IOMMU tables are no more than twice what one domain needs for the
/// 4 GiB that IOVAs are taken from; else what, with both figures.
std::string memory_growth(const Memory& before, const Memory& now);

}  // namespace pagemix::test
