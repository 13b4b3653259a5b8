// SPDX-License-Identifier: Apache-2.0
#include "iommu/iommu_counters.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "pmu_events.hpp"

namespace pagemix::bench {
namespace {

constexpr auto kIdle = std::chrono::milliseconds(20);

vfio::UniqueFd open_counter(const PmuEvent& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = event.type;
  attributes.config = event.config[0];
  attributes.config1 = event.config[1];
  attributes.config2 = event.config[2];
  attributes.disabled = 1;
  vfio::UniqueFd fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, event.cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!fd)
    throw_errno("perf_event_open of " + event.unit + "/" + event.name + "/ on CPU " +
                std::to_string(event.cpu));
  return fd;
}

void control(const std::vector<vfio::UniqueFd>& counters, unsigned long request) {
  for (const vfio::UniqueFd& fd : counters)
    if (ioctl(fd.get(), request, 0) != 0) throw_errno("switch an IOMMU counter");
}

double read_sum(const std::vector<vfio::UniqueFd>& counters) {
  double sum = 0;
  for (const vfio::UniqueFd& fd : counters) {
    std::uint64_t value = 0;
    if (read(fd.get(), &value, sizeof(value)) != sizeof(value))
      throw_errno("read an IOMMU counter");
    sum += static_cast<double>(value);
  }
  return sum;
}

}  // namespace

std::vector<IommuColumn> find_iommu_columns(const vfio::SystemPaths& paths) {
  std::vector<IommuColumn> columns;
  for (const PmuSource& source : kPmuSources) {
    IommuColumn column{.name = source.counter, .events = {}};
    for (const auto& folder : find_pmus(source.units, paths))
      if (auto event = read_pmu_event(folder, source.event)) column.events.push_back(*event);
    if (!column.events.empty()) columns.push_back(std::move(column));
  }
  return columns;
}

std::string iommu_units() {
  std::vector<std::string> names;
  for (const PmuSource& source : kPmuSources)
    if (const std::string name = std::string(source.units) + "*"; !std::ranges::count(names, name))
      names.push_back(name);
  return join(names);
}

double IommuCounters::count(const IommuColumn& column, const std::function<void()>& action) {
  std::vector<vfio::UniqueFd> counters;
  for (const PmuEvent& event : column.events) counters.push_back(open_counter(event));
  control(counters, PERF_EVENT_IOC_ENABLE);
  action();
  control(counters, PERF_EVENT_IOC_DISABLE);
  return read_sum(counters);
}

std::map<std::string, double> IommuCounters::count_all(const std::function<void()>& ready,
                                                       const std::function<void()>& action) const {
  std::map<std::string, double> counts;
  for (const IommuColumn& column : columns_) {
    ready();
    counts[column.name] = count(column, action);
  }
  // Two passes, so that the difference may come out below nothing.
  if (counts.contains("iotlb_lookup") && counts.contains("iotlb_hit") &&
      !counts.contains("iotlb_miss"))
    counts["iotlb_miss"] = std::max(0.0, counts["iotlb_lookup"] - counts["iotlb_hit"]);
  return counts;
}

nlohmann::ordered_json IommuCounters::idle_check() const {
  auto checks = nlohmann::ordered_json::array();
  for (const IommuColumn& column : columns_) {
    const double idle = count(column, [] { std::this_thread::sleep_for(kIdle); });
    auto units = nlohmann::ordered_json::array();
    for (const PmuEvent& event : column.events) units.push_back(event.unit);
    checks.push_back({{"column", column.name},
                      {"event", column.events.front().name},
                      {"units", units},
                      {"idle", idle},
                      {"idle_ms", kIdle.count()}});
  }
  return checks;
}

}  // namespace pagemix::bench
