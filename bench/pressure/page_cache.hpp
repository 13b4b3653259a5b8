// SPDX-License-Identifier: Apache-2.0
// Clean page cache, which the kernel can take back at any time.
#pragma once

#include <cstdint>
#include <string>

#include "pagemix/vfio/files.hpp"
#include "pressure/helper.hpp"

namespace pagemix::bench {

/// A file whose pages stay in the page cache once they are read.
struct CacheSource {
  enum class Kind {
    kFile,    ///< a sparse file without a name in the folder @c path
    kLoop,    ///< a loop device on a sparse memfd: reading it takes no other memory
    kDevice,  ///< the block device @c path
  };
  std::string path;  ///< for messages
  Kind kind = Kind::kFile;
  std::uint64_t bytes = 0;  ///< how much can be read; of a sparse file all of the memory

  /// A descriptor to read it. Pages of kFile and kLoop are gone with the last one.
  vfio::UniqueFd open() const;
};

/// @p wanted when it is not empty: a folder or a block device. Else the first
/// of /var/tmp, /tmp and the working folder that is on a disk (pages of tmpfs
/// and of an initramfs cannot be taken back), else a loop device, else the
/// largest block device.
/// RunError when there is none.
CacheSource find_cache_source(const std::string& wanted);

/// Reads @p source until at most @p free_pages of the machine are free.
/// RunError when it is too small.
void fill_page_cache(const CacheSource& source, int fd, std::uint64_t free_pages,
                     const HelperSide& parent);

/// Gives the pages of a block device back.
void drop_page_cache(const CacheSource& source) noexcept;

}  // namespace pagemix::bench
