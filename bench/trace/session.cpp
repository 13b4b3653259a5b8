// SPDX-License-Identifier: Apache-2.0
#include "trace/session.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "error.hpp"
#include "pagemix/vfio/files.hpp"
#include "text.hpp"
#include "trace/libtracefs.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "pagemix-";
// Of each CPU. An allocation that falls to single pages wakes kswapd often; 4 MiB
// hold some 50,000 events.
constexpr std::size_t kBufferKib = 4096;

struct EventName {
  EventKind kind;
  const char* system;
  const char* event;
};

constexpr std::array kAlways = {
    EventName{EventKind::kCompactionBegin, "compaction", "mm_compaction_begin"},
    EventName{EventKind::kCompactionEnd, "compaction", "mm_compaction_end"},
    EventName{EventKind::kReclaimBegin, "vmscan", "mm_vmscan_direct_reclaim_begin"},
    EventName{EventKind::kReclaimEnd, "vmscan", "mm_vmscan_direct_reclaim_end"},
    EventName{EventKind::kWakeKswapd, "vmscan", "mm_vmscan_wakeup_kswapd"},
    EventName{EventKind::kSwitch, "sched", "sched_switch"},
};
constexpr std::array kPages = {
    EventName{EventKind::kPageFromBuddy, "kmem", "mm_page_alloc_zone_locked"},
    EventName{EventKind::kPageAlloc, "kmem", "mm_page_alloc"},
};

std::string tracing_folder() {
  // Not tracefs_tracing_dir(): that mounts tracefs where it is not.
  for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    struct statfs about {};
    if (statfs(folder, &about) == 0 && about.f_type == TRACEFS_MAGIC) {
      if (::access(folder, W_OK) != 0)
        throw RunError(std::string("no tracing: ") + folder + " may not be written (run as root)");
      return folder;
    }
  }
  throw RunError(
      fs::exists("/sys/kernel/tracing")
          ? "no tracing: tracefs is not mounted; mount -t tracefs nodev /sys/kernel/tracing"
          : "no tracing: this kernel has no tracefs (CONFIG_FTRACE)");
}

// Instances of other runs: those of dead processes go, a living one is a reason to stop.
void clear_instances(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/instances", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto pid = parse_number(name.substr(std::string(kPrefix).size()));
    if (pid && ::kill(static_cast<pid_t>(*pid), 0) == 0)
      throw RunError("tracing is busy: process " + std::to_string(*pid) + " traces by instance " +
                     name + "; two measurements would disturb each other");
    if (::rmdir(entry.path().c_str()) != 0)
      throw_errno("tracing is busy: remove stale instance " + entry.path().string());
  }
  if (error) throw RunError("list " + folder + "/instances: " + error.message());
}

std::uint64_t number_field(tep_event* event, tep_record* record, const char* name) {
  unsigned long long value = 0;
  if (tep_get_field_val(nullptr, event, name, record, &value, 0) != 0) return 0;
  return value;
}

std::string text_field(tep_event* event, tep_record* record, const char* name) {
  int length = 0;
  const auto* text =
      static_cast<const char*>(tep_get_field_raw(nullptr, event, name, record, &length, 0));
  if (text == nullptr || length <= 0) return {};
  return {text, strnlen(text, static_cast<std::size_t>(length))};
}

std::string printed(tep_event* event, tep_record* record) {
  trace_seq seq;
  trace_seq_init(&seq);
  tep_print_event(event->tep, &seq, record, "%s", TEP_PRINT_INFO);
  trace_seq_terminate(&seq);
  std::string text = seq.buffer;
  trace_seq_destroy(&seq);
  return text;
}

// The kernel's own word for a number: "status=" of the event as it prints it.
std::string printed_status(tep_event* event, tep_record* record) {
  const std::string text = printed(event, record);
  const std::size_t at = text.find("status=");
  return at == std::string::npos ? "unknown" : trim(text.substr(at + 7));
}

struct Drain {
  std::map<int, EventKind> kinds;  // by the kernel's id
  std::vector<TraceEvent> events;
  std::map<std::uint64_t, bool> heaps;  // GFP flags that were looked at

  // Is this memory for a buffer? Zeroed and from anywhere, but not movable:
  // unlike what the kernel takes for itself and for processes. The bits differ
  // between kernels, their names do not; each value is printed once.
  bool is_heaps(tep_event* event, tep_record* record) {
    const std::uint64_t flags = number_field(event, record, "gfp_flags");
    const auto known = heaps.find(flags);
    if (known != heaps.end()) return known->second;
    const std::string text = printed(event, record);
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    const bool is =
        (has("GFP_HIGHUSER") || has("__GFP_HIGHMEM")) && has("__GFP_ZERO") && !has("MOVABLE");
    return heaps[flags] = is;
  }
};

int take(tep_event* event, tep_record* record, int cpu, void* context) {
  auto& drain = *static_cast<Drain*>(context);
  const auto kind = drain.kinds.find(event->id);
  if (kind == drain.kinds.end()) return 0;
  TraceEvent& out = drain.events.emplace_back();
  out.kind = kind->second;
  out.ns = record->ts;
  out.cpu = cpu;
  out.pid = tep_data_pid(event->tep, record);
  switch (out.kind) {
    case EventKind::kCompactionEnd:
      out.text = printed_status(event, record);
      [[fallthrough]];
    case EventKind::kCompactionBegin:
      out.value = number_field(event, record, "sync");
      break;
    case EventKind::kReclaimEnd:
      out.value = number_field(event, record, "nr_reclaimed");
      break;
    case EventKind::kSwitch:
      out.next = static_cast<int>(number_field(event, record, "next_pid"));
      out.text = text_field(event, record, "next_comm");
      break;
    case EventKind::kPageAlloc:
      out.value = drain.is_heaps(event, record) ? 1 : 0;
      [[fallthrough]];
    case EventKind::kReclaimBegin:
    case EventKind::kWakeKswapd:
    case EventKind::kPageFromBuddy:
      out.order = static_cast<unsigned>(number_field(event, record, "order"));
      break;
  }
  return 0;
}

}  // namespace

TraceSession::TraceSession() {
  const std::string folder = tracing_folder();
  clear_instances(folder);
  const std::string name = kPrefix + std::to_string(getpid());
  instance_ = tracefs_instance_create(name.c_str());
  if (instance_ == nullptr) throw_errno("make tracing instance " + name);
  try {
    tracefs_trace_off(instance_);
    if (tracefs_instance_file_write(instance_, "trace_clock", "mono_raw") < 0)
      throw_errno("set the clock of the tracing instance to mono_raw");
    if (tracefs_instance_set_buffer_size(instance_, kBufferKib, -1) < 0)
      throw_errno("give the tracing instance " + std::to_string(kBufferKib) + " KiB a CPU");
    const std::array systems = {"compaction", "vmscan", "sched", "kmem",
                                static_cast<const char*>(nullptr)};
    tep_ = tracefs_local_events_system(nullptr, systems.data());
    if (tep_ == nullptr) throw_errno("read the formats of trace events");
    arm(true);  // an event that is not there shows now
    disarm();
    switch_fd_ = tracefs_instance_file_open(instance_, "tracing_on", O_WRONLY);
    if (switch_fd_ < 0) throw_errno("open tracing_on of the tracing instance");
  } catch (...) {
    if (tep_ != nullptr) tep_free(tep_);
    tracefs_instance_destroy(instance_);
    tracefs_instance_free(instance_);
    throw;
  }
}

TraceSession::~TraceSession() {
  stop();
  disarm();
  if (switch_fd_ >= 0) ::close(switch_fd_);
  tep_free(tep_);
  tracefs_instance_destroy(instance_);
  tracefs_instance_free(instance_);
}

void TraceSession::enable(const char* system, const char* event, bool on) {
  const int error = on ? tracefs_event_enable(instance_, system, event)
                       : tracefs_event_disable(instance_, system, event);
  if (error != 0)
    throw RunError(std::string("switch trace event ") + system + ":" + event +
                   ": this kernel does not have it, or it is busy");
}

void TraceSession::arm(bool pages) {
  for (const EventName& event : kAlways) enable(event.system, event.event, true);
  for (const EventName& event : kPages) enable(event.system, event.event, pages);
}

void TraceSession::disarm() noexcept {
  for (const EventName& event : kAlways)
    tracefs_event_disable(instance_, event.system, event.event);
  for (const EventName& event : kPages) tracefs_event_disable(instance_, event.system, event.event);
}

void TraceSession::start() noexcept { tracefs_trace_on_fd(switch_fd_); }

void TraceSession::stop() noexcept { tracefs_trace_off_fd(switch_fd_); }

std::uint64_t TraceSession::lost_so_far() const {
  char* folder = tracefs_instance_get_dir(instance_);
  std::uint64_t lost = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(std::string(folder) + "/per_cpu", ignored)) {
    std::istringstream lines(vfio::read_text(entry.path() / "stats").value_or(""));
    for (std::string line; std::getline(lines, line);)
      for (const char* key : {"overrun: ", "dropped events: ", "commit overrun: "})
        if (line.starts_with(key))
          lost += parse_number(line.substr(std::string(key).size())).value_or(0);
  }
  tracefs_put_tracing_file(folder);
  return lost;
}

std::vector<TraceEvent> TraceSession::drain(std::uint64_t& lost) {
  Drain drain;
  const auto know = [&](const EventName& name) {
    if (const tep_event* event = tep_find_event_by_name(tep_, name.system, name.event))
      drain.kinds[event->id] = name.kind;
  };
  std::ranges::for_each(kAlways, know);
  std::ranges::for_each(kPages, know);
  if (tracefs_iterate_raw_events(tep_, instance_, nullptr, 0, take, &drain) < 0)
    throw_errno("read trace events");
  std::ranges::stable_sort(drain.events, {}, &TraceEvent::ns);
  const std::uint64_t now = lost_so_far();
  lost = now - lost_;
  lost_ = now;
  return std::move(drain.events);
}

}  // namespace pagemix::bench
