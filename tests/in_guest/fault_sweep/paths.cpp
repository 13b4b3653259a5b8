// SPDX-License-Identifier: Apache-2.0
#include "fault_sweep/paths.hpp"

#include <cstring>
#include <stdexcept>

#include "support/operation.hpp"

namespace pagemix::test {
namespace {

// More chunks than fit into a page of struct pagemix_chunk (256).
constexpr std::uint64_t kManyChunksBytes = 300 * 4096;

int attempt_call(const Trigger& trigger, int fd, unsigned long request, void* args) {
  trigger.arm();
  const int err = call(fd, request, args);
  trigger.disarm();
  return err;
}

int default_alloc(const Stage& stage, const Trigger& trigger) {
  dma_heap_allocation_data args{};
  args.len = 1 * kMiB + 65536 + 4096;
  args.fd_flags = O_RDWR | O_CLOEXEC;
  const int err = attempt_call(trigger, stage.heap, DMA_HEAP_IOCTL_ALLOC, &args);
  if (!err) close(static_cast<int>(args.fd));
  return err;
}

Path alloc(const std::string& name, std::uint64_t bytes, const std::vector<pagemix_step>& steps) {
  const auto attempt = [=](const Stage& stage, const Trigger& trigger) {
    pagemix_alloc args = alloc_args(bytes, {}, PAGEMIX_LAYOUT_SCATTERED);
    for (const pagemix_step& step : steps) args.steps[args.nsteps++] = step;
    const int err = attempt_call(trigger, stage.heap, PAGEMIX_IOC_ALLOC, &args);
    if (!err) close(args.fd);
    return err;
  };
  return {"alloc " + name, attempt, "", false};
}

template <typename T>
Path ask(const std::string& name, unsigned long request, bool of_target,
         const std::function<void(const Stage&, T&)>& fill) {
  const auto attempt = [=](const Stage& stage, const Trigger& trigger) {
    T args{};
    args.version = PAGEMIX_UAPI_VERSION;
    fill(stage, args);
    const Fd target(of_target ? open(stage.node.c_str(), O_RDWR | O_CLOEXEC) : -1);
    return attempt_call(trigger, of_target ? target.get() : stage.heap, request, &args);
  };
  return {name, attempt, "", false};
}

int attempt_mmap(const Trigger& trigger, int fd, std::size_t bytes) {
  trigger.arm();
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int err = at == MAP_FAILED ? errno : 0;
  trigger.disarm();
  if (!err) munmap(at, bytes);
  return err;
}

int mmap_buffer(const Stage& stage, const Trigger& trigger) {
  return attempt_mmap(trigger, stage.buffer, 64 << 10);
}

Fd target_with_ring(const Stage& stage, std::uint64_t capacity) {
  Fd target(open(stage.node.c_str(), O_RDWR | O_CLOEXEC));
  pagemix_target_ring args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.capacity = capacity;
  if (!target || call(target.get(), PAGEMIX_IOC_TARGET_RING, &args))
    throw std::runtime_error("open " + stage.node + ": " + std::strerror(errno));
  return target;
}

int mmap_ring(const Stage& stage, const Trigger& trigger) {
  const Fd target = target_with_ring(stage, 1024);
  return attempt_mmap(trigger, target.get(), 1024 * sizeof(pagemix_sample));
}

int open_node(const Stage& stage, const Trigger& trigger) {
  trigger.arm();
  const int fd = open(stage.node.c_str(), O_RDWR | O_CLOEXEC);
  const int err = fd < 0 ? errno : 0;
  trigger.disarm();
  if (!err) close(fd);
  return err;
}

int import_by_vgem(const Stage& stage, const Trigger& trigger) {
  trigger.arm();
  const Import import(stage.card, stage.buffer);
  const int err = import ? 0 : errno;
  trigger.disarm();
  return err;
}

// The core says that it went well even if the driver's probe failed.
int bind(const Stage& stage, const Trigger& trigger) {
  bind_driver(stage.bdf, "");
  const std::string device = "/sys/bus/pci/devices/" + stage.bdf;
  if (const int err = write_text(device + "/driver_override", "pagemix")) return err;
  trigger.arm();
  write_text("/sys/bus/pci/drivers_probe", stage.bdf);
  trigger.disarm();
  if (access(stage.node.c_str(), F_OK) == 0) return 0;
  return bind_driver(stage.bdf, "pagemix") ? EIO : ENOMEM;
}

// Must work whatever fails.
int unbind(const Stage& stage, const Trigger& trigger) {
  trigger.arm();
  const int err = write_text("/sys/bus/pci/devices/" + stage.bdf + "/driver/unbind", stage.bdf);
  trigger.disarm();
  if (err || access(stage.node.c_str(), F_OK) == 0) return EIO;
  return bind_driver(stage.bdf, "pagemix") ? EIO : 0;
}

int load(const Stage&, const Trigger& trigger) {
  if (module_refcount("pagemix") >= 0)
    if (const int err = unload_pagemix()) return err;
  trigger.arm();
  const int err = load_pagemix();
  trigger.disarm();
  return err;
}

int run_operation(const Trigger& trigger, const Stage& stage, const std::string& op,
                  std::uint32_t flags) {
  const Fd target = target_with_ring(stage, 16);
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  set_operation(args, op, stage.buffer);
  args.flags = flags;
  args.repetitions = 2;
  args.warmup = flags ? 0 : 1;
  return attempt_call(trigger, target.get(), PAGEMIX_IOC_TARGET_RUN, &args);
}

// Warm, and cold where the operation has that.
void add_operation(std::vector<Path>& paths, const Stage& stage, const std::string& op) {
  const Trigger none{[] {}, [] {}};
  if (const int err = run_operation(none, stage, op, 0))
    throw std::runtime_error("run " + op + ": " + std::strerror(err));
  for (const std::uint32_t flags : {0U, PAGEMIX_RUN_COLD}) {
    if (run_operation(none, stage, op, flags)) continue;
    const auto attempt = [=](const Stage& at, const Trigger& trigger) {
      return run_operation(trigger, at, op, flags);
    };
    paths.push_back({"run " + op + (flags ? " cold" : ""), attempt,
                     // The kernel cannot leave a domain and have that fail: it warns.
                     op.starts_with("iommu_") ? "iommu_detach_device" : "", false});
  }
}

void add_operations(std::vector<Path>& paths, const Stage& stage) {
  const Fd target = target_with_ring(stage, 1);
  pagemix_target_op op{};
  op.version = PAGEMIX_UAPI_VERSION;
  for (; !call(target.get(), PAGEMIX_IOC_TARGET_OP, &op); op.index++)
    add_operation(paths, stage, op.name);
}

}  // namespace

std::vector<Path> all_paths(const Stage& stage) {
  static std::vector<pagemix_run> runs(16);
  const auto nothing = [](const Stage&, auto&) {};
  const auto of_buffer = [](const Stage& at, auto& args) { args.fd = at.buffer; };
  std::vector<Path> paths = {
      {"default_alloc", default_alloc, "", false},
      alloc("order 0", 64 << 10, {{0, PAGEMIX_GFP_LOW}}),
      alloc("many chunks", kManyChunksBytes, {{0, PAGEMIX_GFP_MID}}),
      alloc("8-4-0", 1 * kMiB + 65536 + 4096,
            {{8, PAGEMIX_GFP_HIGH}, {4, PAGEMIX_GFP_HIGH}, {0, PAGEMIX_GFP_LOW}}),
      ask<pagemix_heap_info>("heap_info", PAGEMIX_IOC_HEAP_INFO, false, nothing),
      ask<pagemix_buf_info>("buf_info", PAGEMIX_IOC_BUF_INFO, false, of_buffer),
      ask<pagemix_buf_attachments>("buf_attachments", PAGEMIX_IOC_BUF_ATTACHMENTS, false,
                                   of_buffer),
      ask<pagemix_buf_runs>("buf_runs", PAGEMIX_IOC_BUF_RUNS, false,
                            [](const Stage& at, pagemix_buf_runs& args) {
                              args.fd = at.buffer;
                              args.runs = reinterpret_cast<std::uintptr_t>(runs.data());
                              args.capacity = static_cast<std::uint32_t>(runs.size());
                            }),
      ask<pagemix_target_info>("target_info", PAGEMIX_IOC_TARGET_INFO, true, nothing),
      ask<pagemix_target_op>("target_op", PAGEMIX_IOC_TARGET_OP, true, nothing),
      ask<pagemix_target_ring>("target_ring", PAGEMIX_IOC_TARGET_RING, true,
                               [](const Stage&, auto& args) { args.capacity = 1024; }),
      {"mmap of a buffer", mmap_buffer, "", false},
      {"mmap of a ring", mmap_ring, "", false},
      {"open", open_node, "", false},
      {"bind", bind, "", false},
      // Without memory the kernel leaves the node of any device that goes behind.
      {"unbind", unbind, "devtmpfs_delete_node", false},
  };
  if (stage.card >= 0) paths.push_back({"import", import_by_vgem, "", false});
  add_operations(paths, stage);
  // module_add_driver() of drivers/base/module.c, without its folder: EINVAL.
  paths.push_back({"load", load, "", true, EINVAL});
  return paths;
}

}  // namespace pagemix::test
