// SPDX-License-Identifier: Apache-2.0
// Anonymous memory that fills the machine and is punched out page by page.
#pragma once

#include <cstdint>
#include <vector>

#include "pagemix/vfio/files.hpp"
#include "pressure/helper.hpp"

namespace pagemix::bench {

/// Private pages of the helper: movable, without huge pages.
class AnonymousFill {
 public:
  /// Reserves addresses for all of the machine's memory; takes no page yet.
  AnonymousFill();
  ~AnonymousFill();
  AnonymousFill(const AnonymousFill&) = delete;
  AnonymousFill& operator=(const AnonymousFill&) = delete;

  /// Takes pages until at most @p free_pages of the machine are free.
  void fill_until(std::uint64_t free_pages, const HelperSide& parent);

  /// Keeps one page in each physical block of @p order that has pages of this,
  /// but for a part @p whole (0..1) of the blocks, and gives the others back;
  /// @p seed chooses both. Needs CAP_SYS_ADMIN: only the physical addresses of
  /// /proc/self/pagemap tell which pages are neighbours.
  void punch_out(unsigned order, std::uint64_t seed, double whole);

  /// Takes a reference to every kept page by putting it into a pipe
  /// (vmsplice(2)), so that compaction cannot move it. @p pipes of make_pipes().
  void pin(const std::vector<vfio::UniqueFd>& pipes);

  std::size_t kept() const { return kept_.size(); }

 private:
  char* page(std::size_t index) const { return base_ + index * page_size_; }
  template <typename Visit>
  void visit_frames(Visit visit) const;

  char* base_ = nullptr;
  std::size_t page_size_ = 0;
  std::size_t capacity_ = 0;         ///< pages reserved
  std::size_t filled_ = 0;           ///< pages touched, from the start
  std::vector<std::uint32_t> kept_;  ///< indices, ascending
};

/// Pipes for @p pages pages, both ends of each. They must be made before memory
/// is short, because their tables are allocated in one piece.
std::vector<vfio::UniqueFd> make_pipes(std::uint64_t pages);

/// Sets the limit of open files to the highest this process may.
void raise_open_files();

/// Free pages of the machine (MemFree), read without a file.
std::uint64_t free_pages_now();

}  // namespace pagemix::bench
