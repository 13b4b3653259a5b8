// SPDX-License-Identifier: Apache-2.0
// A buffer has five kinds of users: its descriptor, a CPU mapping, an importer's
// attachment, a VFIO mapping that pins its pages, and a second descriptor. They
// let go in every order; the module can be unloaded exactly when no dma-buf is
// left, and in the end all memory is back. Needs QEMU's edu device and vgem.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "pagemix/vfio/iommu/mapping.hpp"
#include "pagemix/vfio/iommu/type1.hpp"
#include "pagemix/vfio/pci/binding.hpp"
#include "pagemix/vfio/pci/discovery.hpp"
#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

constexpr std::size_t kBytes = 10 * kMiB;

// All users of one buffer, each of which can let go on its own.
class Users {
 public:
  static constexpr std::size_t kCount = 5;
  static constexpr std::array<const char*, kCount> kNames = {"descriptor", "duplicate",
                                                             "CPU mapping", "import", "VFIO"};

  Users(const std::vector<pagemix_step>& mix, int card, vfio::iommu::AddressSpace& space,
        vfio::iommu::IovaAllocator& iova)
      : descriptor_(allocate(kBytes, mix, PAGEMIX_LAYOUT_SCATTERED)),
        duplicate_(dup(descriptor_.get())),
        mapping_(descriptor_.get(), kBytes) {
    if (!descriptor_ || !duplicate_ || !mapping_) return;
    std::memset(mapping_.as<void>(), 0x5a, kBytes);
    import_.emplace(card, descriptor_.get());
    if (!*import_) return;
    vfio_.emplace(space, iova, std::span(mapping_.as<std::byte>(), kBytes));
    complete_ = true;
  }
  bool complete() const { return complete_; }
  // A pin holds pages, not the dma-buf.
  bool dmabuf_alive() const { return descriptor_ || duplicate_ || mapping_ || import_; }

  void let_go(std::size_t user) {
    switch (user) {
      case 0:
        return descriptor_.reset();
      case 1:
        return duplicate_.reset();
      case 2:
        return mapping_.reset();
      case 3:
        return import_.reset();
      case 4:
        return vfio_.reset();
    }
  }

 private:
  Fd descriptor_;
  Fd duplicate_;
  Map mapping_;
  std::optional<Import> import_;
  std::optional<vfio::iommu::Mapping> vfio_;
  bool complete_ = false;
};

std::string describe(const std::array<std::size_t, Users::kCount>& order) {
  std::string text;
  for (std::size_t user : order)
    text += std::string(text.empty() ? "" : ", ") + Users::kNames[user];
  return text;
}

TEST(Lifetime, UsersLetGoInEveryOrder) {
  const std::string bdf = edu_device();
  if (bdf.empty()) GTEST_SKIP() << "no edu device (1234:11e8) in this machine";
  Fd card = vgem_card();
  if (!card) GTEST_SKIP() << "no vgem device: load the kernel's vgem module";

  const vfio::pci::Bdf address = vfio::pci::Bdf::parse(bdf);
  vfio::pci::Binding binding(address, "vfio-pci");
  vfio::iommu::Type1Container space(vfio::pci::read_device(address));
  vfio::iommu::IovaAllocator iova(space.iova_ranges(), space.granule());
  ASSERT_EQ(0, module_refcount("pagemix"));

  long before = 0;
  for (int pass = 0; pass < 2; pass++) {
    // The first pass fills caches (page tables, slabs); the second is judged.
    before = settled_free_kib();
    std::array<std::size_t, Users::kCount> order;
    std::iota(order.begin(), order.end(), 0);
    std::size_t mix = 0;
    do {
      SCOPED_TRACE(describe(order));
      Users users(all_mixes()[mix++ % all_mixes().size()].steps, card.get(), space, iova);
      ASSERT_TRUE(users.complete());
      for (std::size_t user : order) {
        EXPECT_EQ(1, module_refcount("pagemix"));
        users.let_go(user);
        if (users.dmabuf_alive()) {
          EXPECT_EQ(EAGAIN, unload_pagemix());
          continue;
        }
        // Pinned pages, if any, outlive the module.
        EXPECT_EQ(0, unload_pagemix());
        EXPECT_EQ(0, load_pagemix());
        for (std::size_t rest : order) users.let_go(rest);
        break;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  // 120 orders: one lost buffer would show as 10 MiB.
  EXPECT_GT(settled_free_kib(), before - 4096);
}

}  // namespace
}  // namespace pagemix::test
