// SPDX-License-Identifier: Apache-2.0
// What an errno of VFIO_IOMMU_MAP_DMA means; after drivers/vfio/vfio_iommu_type1.c
// (Linux 6.12), vfio_dma_do_map() and vfio_pin_pages_remote().
#include <sys/resource.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/iommu/type1.hpp"

namespace pagemix::vfio::iommu {
namespace {

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

std::string ranges_text(const std::vector<IovaRange>& ranges) {
  std::string text;
  for (const IovaRange& range : ranges) text += (text.empty() ? "" : ", ") + to_string(range);
  return text.empty() ? "none" : text;
}

/// First stretch of first..last that `ranges` (ascending) leave out, cut to
/// the whole gap so that the message names the reserved range.
std::optional<IovaRange> gap_touched(const std::vector<IovaRange>& ranges, std::uint64_t first,
                                     std::uint64_t last) {
  std::uint64_t gap_first = 0;
  for (const IovaRange& range : ranges) {
    if (range.first > gap_first && first < range.first && last >= gap_first)
      return IovaRange{gap_first, range.first - 1};
    if (range.last == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    gap_first = range.last + 1;
  }
  if (last >= gap_first) return IovaRange{gap_first, std::numeric_limits<std::uint64_t>::max()};
  return std::nullopt;
}

std::string explain_invalid(const MapFailure& f) {
  if (f.bytes == 0) return "0 bytes, allowed: multiples of " + bytes_text(f.granule);
  const std::uint64_t mask = f.granule - 1;
  if ((f.iova & mask) != 0)
    return "the IOVA is no multiple of the granule " + bytes_text(f.granule);
  if ((f.bytes & mask) != 0)
    return "the size is no multiple of the granule " + bytes_text(f.granule);
  if ((f.address & mask) != 0)
    return "the memory at " + hex(f.address) + " is not aligned to the granule " +
           bytes_text(f.granule);
  if (f.iova + (f.bytes - 1) < f.iova) return "IOVA and size exceed the 64-bit address space";
  if (const auto gap = gap_touched(f.ranges, f.iova, f.iova + (f.bytes - 1)))
    return "inside reserved range " + to_string(*gap) + "; usable: " + ranges_text(f.ranges);
  return "the kernel refused it although alignment and ranges are right; usable: " +
         ranges_text(f.ranges);
}

/// kB value of `key` in /proc/self/status as bytes; 0 when absent.
std::uint64_t status_bytes(const std::string& status, const std::string& key) {
  const std::size_t at = status.find("\n" + key + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(status.c_str() + at + key.size() + 2, nullptr, 10) * 1024;
}

struct Vma {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::string permissions;
  std::string flags;  // with a blank before and after each
  bool holds(std::uint64_t address) const { return first <= address && address < end; }
};

/// The mappings of /proc/<pid>/smaps, ascending.
std::vector<Vma> parse_smaps(const std::string& text) {
  std::vector<Vma> vmas;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    char permissions[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &first, &end, permissions) == 3)
      vmas.push_back({first, end, permissions, {}});
    else if (line.rfind("VmFlags:", 0) == 0 && !vmas.empty())
      vmas.back().flags = line.substr(8) + " ";
  }
  return vmas;
}

std::string explain_fault(const MapFailure& f) {
  std::uint64_t address = f.address;
  const std::uint64_t end = f.address + f.bytes;
  for (const Vma& vma : parse_smaps(f.smaps)) {
    if (vma.end <= address) continue;
    if (!vma.holds(address)) break;
    if (vma.flags.find(" pf ") != std::string::npos)
      return "the memory at " + hex(address) +
             " is a PFNMAP mapping (made with remap_pfn_range), whose pages have no references "
             "and cannot be pinned";
    if ((static_cast<unsigned>(f.access) & static_cast<unsigned>(Access::write)) != 0 &&
        vma.permissions.find('w') == std::string::npos)
      return "the memory at " + hex(address) + " is mapped read-only, device writes need " +
             "PROT_WRITE";
    if (vma.end >= end)
      return "the memory cannot be pinned: it is mapped, but a page has no memory behind it "
             "(past the end of a file, or poisoned)";
    address = vma.end;
  }
  return "no memory is mapped at " + hex(address);
}

std::string explain_no_memory(const MapFailure& f) {
  const bool limited = f.memlock_limit != ~std::uint64_t{0};
  if (!limited)
    return "the kernel has no memory for " + bytes_text(f.bytes) +
           " of pinned pages and their page tables (ulimit -l is unlimited)";
  return "locked memory: " + bytes_text(f.bytes) + " needed, " + bytes_text(f.memlock_used) +
         " in use, RLIMIT_MEMLOCK " + bytes_text(f.memlock_limit) +
         "; raise it (ulimit -l unlimited) or run with CAP_IPC_LOCK";
}

}  // namespace

MapFailure describe_map_failure(int errnum, std::span<const std::byte> memory, std::uint64_t iova,
                                Access access, std::uint64_t granule,
                                std::span<const IovaRange> ranges) {
  MapFailure failure;
  failure.errnum = errnum;
  failure.address = reinterpret_cast<std::uintptr_t>(memory.data());
  failure.bytes = memory.size();
  failure.iova = iova;
  failure.access = access;
  failure.granule = granule;
  failure.ranges.assign(ranges.begin(), ranges.end());
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
    failure.memlock_limit = limit.rlim_cur == RLIM_INFINITY ? ~std::uint64_t{0} : limit.rlim_cur;
  failure.memlock_used = status_bytes(read_text("/proc/self/status").value_or(""), "VmLck");
  if (errnum == EFAULT) failure.smaps = read_text("/proc/self/smaps").value_or("");
  return failure;
}

std::string explain_map_failure(const MapFailure& f) {
  switch (f.errnum) {
    case EINVAL:
    case EOVERFLOW:  // beyond 64 bits: iommufd, and type1 of later kernels
      return explain_invalid(f);
    case EEXIST:
      return "the range overlaps an existing mapping";
    case ENOSPC:
    case E2BIG: {
      const std::string left = f.available_mappings
                                   ? std::to_string(*f.available_mappings) + " mappings left"
                                   : "no mapping left";
      return left +
             " in this container; the limit is parameter dma_entry_limit of module "
             "vfio_iommu_type1 (default 65535): modprobe vfio_iommu_type1 dma_entry_limit=N";
    }
    case ENOMEM:
      return explain_no_memory(f);
    case EFAULT:
      return explain_fault(f);
    case EPERM:
      return "not permitted: needs the process that made the container";
    default:
      return {};
  }
}

}  // namespace pagemix::vfio::iommu
