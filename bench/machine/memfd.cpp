// SPDX-License-Identifier: Apache-2.0
#include "machine/memfd.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {
namespace {

std::filesystem::path pool_of(std::uint64_t page_bytes, const vfio::SystemPaths& paths) {
  return paths.sys / "kernel/mm/hugepages" /
         ("hugepages-" + std::to_string(page_bytes / 1024) + "kB");
}

}  // namespace

const std::vector<std::string>& memfd_sources() {
  static const std::vector<std::string> sources = {"shmem",       "hugetlb-64K",  "hugetlb-2M",
                                                   "hugetlb-32M", "hugetlb-512M", "hugetlb-1G"};
  return sources;
}

std::uint64_t huge_page_bytes(const std::string& source) {
  const std::size_t dash = source.find('-');
  return dash == std::string::npos ? 0 : parse_size(source.substr(dash + 1)).value_or(0);
}

std::optional<std::string> memfd_missing(const std::string& source, std::uint64_t bytes,
                                         const vfio::SystemPaths& paths) {
  const std::uint64_t page_bytes = huge_page_bytes(source);
  if (page_bytes == 0) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::exists(pool_of(page_bytes, paths), error))
    return "the kernel has no huge pages of " + format_size(page_bytes) + " (" +
           pool_of(page_bytes, paths).string() + ")";
  if (bytes % page_bytes != 0)
    return format_size(bytes) + " are no whole pages of " + format_size(page_bytes);
  return std::nullopt;
}

Memfd::Memfd(const std::string& source, std::uint64_t bytes, const vfio::SystemPaths& paths)
    : name_(source + " of " + format_size(bytes)), bytes_(bytes), paths_(paths) {
  const std::uint64_t page_bytes = huge_page_bytes(source);
  unsigned flags = MFD_CLOEXEC;
  if (page_bytes != 0) {
    enlarge_pool(page_bytes, bytes / page_bytes);
    flags |= MFD_HUGETLB | static_cast<unsigned>(std::countr_zero(page_bytes)) << MFD_HUGE_SHIFT;
  }
  fd_ = vfio::UniqueFd(memfd_create("pagemix", flags));
  if (!fd_) throw_errno("make memfd " + name_);
  if (fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) != 0)
    throw_errno("allocate memfd " + name_);
  memory_ = vfio::MappedMemory(fd_.get(), bytes, 0, PROT_READ | PROT_WRITE, "memfd " + name_);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (std::uint64_t at = 0; at < bytes; at += page)  // so that pagemap shows each
    const_cast<volatile std::byte*>(memory_.data())[at] = std::byte{0};
}

void Memfd::enlarge_pool(std::uint64_t page_bytes, std::uint64_t pages) {
  const std::filesystem::path folder = pool_of(page_bytes, paths_);
  const auto free = parse_number(vfio::read_line(folder / "free_hugepages").value_or("0"));
  if (free.value_or(0) >= pages) return;
  const std::string file = (folder / "nr_hugepages").string();
  const std::uint64_t wanted =
      parse_number(vfio::read_line(file).value_or("0")).value_or(0) + pages - free.value_or(0);
  pool_.emplace(file, std::to_string(wanted));
  const std::string got = vfio::read_line(file).value_or("0");
  if (parse_number(got).value_or(0) < wanted)
    throw RunError(name_ + ": " + file + " is " + got + " after asking for " +
                   std::to_string(wanted) + ": no free memory in pieces of " +
                   format_size(page_bytes));
}

std::vector<pagemix_run> Memfd::runs() const {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const vfio::UniqueFd pagemap = vfio::open_file(paths_.proc / "self/pagemap", O_RDONLY);
  const std::uint64_t first = reinterpret_cast<std::uintptr_t>(memory_.data()) / page;
  std::vector<std::uint64_t> entries(bytes_ / page);
  const auto wanted = static_cast<ssize_t>(entries.size() * sizeof(entries[0]));
  if (pread(pagemap.get(), entries.data(), static_cast<std::size_t>(wanted),
            static_cast<off_t>(first * sizeof(entries[0]))) != wanted)
    throw_errno("read the page map of " + name_);
  std::vector<pagemix_run> runs;
  for (const std::uint64_t entry : entries) {
    // Documentation/admin-guide/mm/pagemap.rst: bits 0..54 page frame, 63 present.
    const std::uint64_t phys = (entry & ((std::uint64_t{1} << 55) - 1)) * page;
    if ((entry >> 63) == 0 || phys == 0)
      throw RunError(name_ + ": /proc/self/pagemap does not tell its pages: needs CAP_SYS_ADMIN");
    if (!runs.empty() && runs.back().phys + runs.back().bytes == phys)
      runs.back().bytes += page;
    else
      runs.push_back({.phys = phys, .bytes = page});
  }
  return runs;
}

}  // namespace pagemix::bench
