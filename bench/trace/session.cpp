// SPDX-License-Identifier: Apache-2.0
#include "trace/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/gfp_flags.hpp"
#include "trace/libtracefs.hpp"

namespace pagemix::bench {
namespace {

struct EventName {
  EventKind kind;
  const char* system;
  const char* event;
  bool needed = true;  // false: not every architecture has it
};

constexpr std::array kAlways = {
    EventName{EventKind::kCompactionBegin, "compaction", "mm_compaction_begin"},
    EventName{EventKind::kCompactionEnd, "compaction", "mm_compaction_end"},
    EventName{EventKind::kReclaimBegin, "vmscan", "mm_vmscan_direct_reclaim_begin"},
    EventName{EventKind::kReclaimEnd, "vmscan", "mm_vmscan_direct_reclaim_end"},
    EventName{EventKind::kWakeKswapd, "vmscan", "mm_vmscan_wakeup_kswapd"},
    EventName{EventKind::kSwitch, "sched", "sched_switch"},
    EventName{EventKind::kInterruptBegin, "irq", "irq_handler_entry"},
    EventName{EventKind::kInterruptEnd, "irq", "irq_handler_exit"},
    EventName{EventKind::kInterruptBegin, "irq", "softirq_entry"},
    EventName{EventKind::kInterruptEnd, "irq", "softirq_exit"},
    EventName{EventKind::kInterruptBegin, "irq_vectors", "local_timer_entry", false},
    EventName{EventKind::kInterruptEnd, "irq_vectors", "local_timer_exit", false},
};
constexpr std::array kPages = {
    EventName{EventKind::kPageFromBuddy, "kmem", "mm_page_alloc_zone_locked"},
    EventName{EventKind::kPageAlloc, "kmem", "mm_page_alloc"},
};

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
  HeapFlags heaps;
  std::map<int, EventKind> kinds;  // by the kernel's id
  std::vector<TraceEvent> events;
};

// The "format" file of an event; "" without.
std::string format_of(const TraceInstance& instance, const EventName& name) {
  return instance.read(std::string("events/") + name.system + "/" + name.event + "/format");
}

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
    case EventKind::kInterruptBegin:
    case EventKind::kInterruptEnd:
      break;
    case EventKind::kPageAlloc:
      // A failed attempt is an event as well, of no page.
      out.value = drain.heaps.match(number_field(event, record, "gfp_flags")) &&
                  number_field(event, record, "pfn") != ~std::uint64_t{0};
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

TraceSession::TraceSession() : instance_("events") {
  const std::array systems = {"compaction",
                              "vmscan",
                              "sched",
                              "kmem",
                              "irq",
                              "irq_vectors",
                              static_cast<const char*>(nullptr)};
  tep_ = tracefs_local_events_system(nullptr, systems.data());
  if (tep_ == nullptr) throw_errno("read the formats of trace events");
  try {
    arm(true);  // an event that is not there shows now
    disarm();
  } catch (...) {
    tep_free(tep_);
    throw;
  }
}

TraceSession::~TraceSession() {
  stop();
  disarm();
  tep_free(tep_);
}

void TraceSession::arm(bool pages) {
  const auto enable = [&](const EventName& name, bool on) {
    if (!name.needed && tep_find_event_by_name(tep_, name.system, name.event) == nullptr) return;
    const int error = on ? tracefs_event_enable(instance_.get(), name.system, name.event)
                         : tracefs_event_disable(instance_.get(), name.system, name.event);
    if (error != 0)
      throw RunError(std::string("switch trace event ") + name.system + ":" + name.event +
                     ": this kernel does not have it, or it is busy");
  };
  for (const EventName& name : kAlways) enable(name, true);
  for (const EventName& name : kPages) enable(name, pages);
}

void TraceSession::disarm() noexcept {
  for (const EventName& event : kAlways)
    tracefs_event_disable(instance_.get(), event.system, event.event);
  for (const EventName& event : kPages)
    tracefs_event_disable(instance_.get(), event.system, event.event);
}

std::vector<TraceEvent> TraceSession::drain(std::uint64_t& lost) {
  Drain drain{HeapFlags(format_of(instance_, kPages.back())), {}, {}};
  const auto know = [&](const EventName& name) {
    if (const tep_event* event = tep_find_event_by_name(tep_, name.system, name.event))
      drain.kinds[event->id] = name.kind;
  };
  std::ranges::for_each(kAlways, know);
  std::ranges::for_each(kPages, know);
  if (tracefs_iterate_raw_events(tep_, instance_.get(), nullptr, 0, take, &drain) < 0)
    throw_errno("read trace events");
  std::ranges::stable_sort(drain.events, {}, &TraceEvent::ns);
  lost = instance_.newly_lost();
  return std::move(drain.events);
}

}  // namespace pagemix::bench
