// SPDX-License-Identifier: Apache-2.0
#include "machine/heap_client.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {

std::uint32_t layout_value(const std::string& name) {
  return name == "scattered" ? PAGEMIX_LAYOUT_SCATTERED : PAGEMIX_LAYOUT_BUDDY;
}

int buffer_info(int heap_fd, int buffer_fd, pagemix_buf_info& info) noexcept {
  info = {};
  info.version = PAGEMIX_UAPI_VERSION;
  info.fd = buffer_fd;
  return ioctl(heap_fd, PAGEMIX_IOC_BUF_INFO, &info) == 0 ? 0 : errno;
}

pagemix_buf_info Buffer::info(int heap_fd) const {
  pagemix_buf_info info{};
  if (const int error = buffer_info(heap_fd, fd_.get(), info); error != 0)
    throw_errno("PAGEMIX_IOC_BUF_INFO of " + name_, error);
  return info;
}

std::vector<pagemix_run> Buffer::runs(int heap_fd) const {
  std::vector<pagemix_run> runs(info(heap_fd).nr_runs);
  pagemix_buf_runs args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.fd = fd_.get();
  args.runs = reinterpret_cast<std::uintptr_t>(runs.data());
  args.capacity = static_cast<__u32>(runs.size());
  if (ioctl(heap_fd, PAGEMIX_IOC_BUF_RUNS, &args) != 0)
    throw_errno("PAGEMIX_IOC_BUF_RUNS of " + name_);
  runs.resize(args.capacity);
  return runs;
}

vfio::MappedMemory Buffer::map_prefaulted(std::uint64_t bytes) const {
  vfio::MappedMemory memory(fd_.get(), bytes, 0, PROT_READ | PROT_WRITE, name_);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < memory.size(); at += page) {
    // A write, as the later pin is for writing. The memory is zero already.
    *reinterpret_cast<volatile char*>(memory.data() + at) = 0;
  }
  return memory;
}

HeapClient::HeapClient(const std::filesystem::path& node)
    : fd_(::open(node.c_str(), O_RDWR | O_CLOEXEC)) {
  if (!fd_ && errno == ENOENT)
    throw RunError("open " + node.string() + ": no such node; load the module: insmod pagemix.ko");
  if (!fd_) throw_errno("open " + node.string() + (errno == EACCES ? " (run as root)" : ""));
  info_.version = PAGEMIX_UAPI_VERSION;
  if (ioctl(fd_.get(), PAGEMIX_IOC_HEAP_INFO, &info_) != 0)
    throw_errno("PAGEMIX_IOC_HEAP_INFO of " + node.string() +
                " (module and program are of different versions?)");
}

pagemix_alloc HeapClient::request(const BufferSpec& spec) {
  pagemix_alloc args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.bytes = spec.bytes;
  args.seed = spec.seed;
  args.layout = spec.layout;
  args.nsteps = static_cast<__u32>(spec.steps.size());
  std::ranges::copy(spec.steps, args.steps);
  args.fd_flags = O_RDWR | O_CLOEXEC;
  args.fd = -1;
  return args;
}

int HeapClient::try_allocate(pagemix_alloc& request) const noexcept {
  return ioctl(fd_.get(), PAGEMIX_IOC_ALLOC, &request) == 0 ? 0 : errno;
}

Buffer HeapClient::allocate(const BufferSpec& spec, const std::string& name) const {
  pagemix_alloc args = request(spec);
  if (const int error = try_allocate(args); error != 0)
    throw_errno("allocate " + format_size(spec.bytes) + " for " + name, error);
  return {vfio::UniqueFd(args.fd), name};
}

void add_buffer_counters(std::map<std::string, double>& counters, const pagemix_buf_info& info) {
  for (unsigned order = 0; order < PAGEMIX_ORDERS; ++order)
    if (info.chunks[order] != 0)
      counters["chunks_order" + std::to_string(order)] = static_cast<double>(info.chunks[order]);
  counters["runs"] = static_cast<double>(info.nr_runs);
}

}  // namespace pagemix::bench
