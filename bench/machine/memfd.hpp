// SPDX-License-Identifier: Apache-2.0
// Files of memory as buffers: shmem, or huge pages of one size.
#pragma once

#include <pagemix.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/setting.hpp"
#include "pagemix/vfio/files.hpp"
#include "pagemix/vfio/memory.hpp"

namespace pagemix::bench {

/// Sources that a profile can name: "shmem", "hugetlb-64K", "hugetlb-2M", ...
const std::vector<std::string>& memfd_sources();

/// Bytes of a source's huge page; 0 for shmem.
std::uint64_t huge_page_bytes(const std::string& source);

/// Why the kernel cannot make @p bytes of a source; nullopt when it may.
std::optional<std::string> memfd_missing(const std::string& source, std::uint64_t bytes,
                                         const vfio::SystemPaths& paths = {});

/// A memfd with all its pages present. The pool of huge pages is enlarged for it
/// and shrinks again with the object.
class Memfd {
 public:
  /// RunError naming source, size and the pool's setting when there is no memory.
  Memfd(const std::string& source, std::uint64_t bytes, const vfio::SystemPaths& paths = {});

  int fd() const { return fd_.get(); }
  /// Physically contiguous stretches, out of /proc/self/pagemap. Needs
  /// CAP_SYS_ADMIN; RunError without.
  std::vector<pagemix_run> runs() const;

 private:
  void enlarge_pool(std::uint64_t page_bytes, std::uint64_t pages);

  std::string name_;
  std::uint64_t bytes_;
  vfio::SystemPaths paths_;
  std::optional<Setting> pool_;  // first, so that it shrinks when the pages are free
  vfio::UniqueFd fd_;
  vfio::MappedMemory memory_;
};

}  // namespace pagemix::bench
