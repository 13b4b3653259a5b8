// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "pagemix/vfio/error.hpp"

namespace pagemix::vfio {

MappedMemory::MappedMemory(int fd, std::uint64_t bytes, std::uint64_t offset, int prot,
                           std::string_view what) {
  const int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
  void* address = ::mmap(nullptr, bytes, prot, flags, fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED)
    throw Error(errno, "mmap " + std::to_string(bytes) + " bytes of " + std::string(what));
  bytes_ = {static_cast<std::byte*>(address), bytes};
}

void MappedMemory::reset() noexcept {
  if (bytes_.data() != nullptr) ::munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

}  // namespace pagemix::vfio
