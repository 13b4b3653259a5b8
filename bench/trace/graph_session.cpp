// SPDX-License-Identifier: Apache-2.0
#include "trace/graph_session.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/libtracefs.hpp"

namespace pagemix::bench {
namespace {

// The tracer tells the function's entry or its call of the tracer, a few
// instructions on; the list of functions the latter.
constexpr std::uint64_t kNear = 32;

struct Drain {
  std::span<const std::uint64_t> addresses;
  std::vector<CallEvent> events;
};

std::optional<std::size_t> function_at(std::span<const std::uint64_t> addresses,
                                       std::uint64_t address) {
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (address + kNear >= addresses[i] && address <= addresses[i] + kNear) return i;
  return std::nullopt;
}

int take(tep_event* event, tep_record* record, int, void* context) {
  auto& drain = *static_cast<Drain*>(context);
  const std::string name = event->name;
  if (name != "funcgraph_entry" && name != "funcgraph_exit") return 0;
  unsigned long long address = 0;
  if (tep_get_field_val(nullptr, event, "func", record, &address, 0) != 0) return 0;
  if (const auto function = function_at(drain.addresses, address))
    drain.events.push_back({.begin = name == "funcgraph_entry",
                            .function = *function,
                            .ns = record->ts,
                            .pid = tep_data_pid(event->tep, record)});
  return 0;
}

}  // namespace

void GraphSession::find_functions(std::span<const std::string> wanted) {
  // Lines "<address> <name>[ [module]]", Linux 6.5 and later.
  std::ifstream list;
  for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
    if (!list.is_open()) list.open(std::string(folder) + "/available_filter_functions_addrs");
  if (!list.is_open())
    throw RunError(
        "no tracing of functions: this kernel has no list of them "
        "(CONFIG_FUNCTION_GRAPH_TRACER, Linux 6.5)");
  for (std::string line; std::getline(list, line);) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    const std::string name = line.substr(blank + 1);
    if (std::ranges::find(wanted, name) == wanted.end()) continue;
    std::uint64_t address = 0;
    std::from_chars(line.data(), line.data() + blank, address, 16);
    functions_.push_back(name);
    addresses_.push_back(address);
  }
  if (functions_.empty())
    throw RunError("no tracing of functions: this kernel can trace none of " + join(wanted));
}

GraphSession::GraphSession(std::span<const std::string> functions) : instance_("graph") {
  find_functions(functions);
  // The kernel takes one name from a write().
  for (const std::string& name : functions_)
    if (tracefs_instance_file_append(instance_.get(), "set_ftrace_filter", name.c_str()) < 0)
      throw_errno("choose function " + name + " to trace");
  if (tracefs_instance_file_write(instance_.get(), "current_tracer", "function_graph") < 0)
    throw RunError(
        "no tracing of functions: this kernel has no tracer function_graph for an "
        "instance (Linux 6.11 and later have)");
  const std::array systems = {"ftrace", static_cast<const char*>(nullptr)};
  tep_ = tracefs_local_events_system(nullptr, systems.data());
  if (tep_ == nullptr) throw_errno("read the formats of ftrace's events");
}

GraphSession::~GraphSession() {
  stop();
  tracefs_instance_file_write(instance_.get(), "current_tracer", "nop");
  tep_free(tep_);
}

std::vector<CallEvent> GraphSession::drain(std::uint64_t& lost) {
  Drain drain{addresses_, {}};
  if (tracefs_iterate_raw_events(tep_, instance_.get(), nullptr, 0, take, &drain) < 0)
    throw_errno("read calls of functions");
  std::ranges::stable_sort(drain.events, {}, &CallEvent::ns);
  lost = instance_.newly_lost();
  return std::move(drain.events);
}

}  // namespace pagemix::bench
