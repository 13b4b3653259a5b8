// SPDX-License-Identifier: Apache-2.0
#include "run/run.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "families/family.hpp"
#include "machine/setting.hpp"
#include "pagemix/vfio/error.hpp"
#include "plan/config_files.hpp"
#include "result/context.hpp"
#include "result/folder.hpp"
#include "result/journal.hpp"
#include "result/table.hpp"
#include "run/case_runner.hpp"
#include "run/case_selection.hpp"
#include "run/progress.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::vector<std::string> names_of(const std::vector<Mix>& mixes) {
  std::vector<std::string> names;
  for (const Mix& mix : mixes) names.push_back(mix.name);
  return names;
}

// The kernel's limit when the heap can be asked; the usual one otherwise, so
// that profiles can be checked on a machine without the module.
unsigned known_max_order() {
  try {
    return std::min<unsigned>(HeapClient().info().max_order, PAGEMIX_ORDERS - 1);
  } catch (const RunError&) {
    return kDefaultMaxOrder;
  }
}

std::vector<Case> selected_cases(const Profile& profile, const std::string& filter) {
  std::vector<Case> cases = expand(profile);
  const std::size_t all = cases.size();
  std::erase_if(cases, [&](const Case& item) { return !matches_filter(filter, item.name()); });
  if (cases.empty())
    throw UsageError("--benchmark_filter=" + filter + " matches none of " + std::to_string(all) +
                     " benchmarks; see --benchmark_list_tests");
  return cases;
}

/// One run: owns what the families use and writes what they measured.
class Runner {
 public:
  Runner(const RunOptions& options, const Profile& profile, const std::vector<Mix>& mixes,
         std::vector<Case> cases, ClockKind clock, const Marker& marker)
      : options_(options),
        profile_(profile),
        recorder_(clock, profile.blocks),
        selection_(std::move(cases), recorder_),
        marker_(marker),
        context_{
            .profile = profile, .mixes = mixes, .machine = {}, .profile_name = {}, .clock = clock} {
    for (const Mix& mix : mixes) mixes_[mix.name] = mix;
  }

  RunContext& context() { return context_; }

  /// Opens heap and device, asks every family whether it can run, makes the
  /// buffers of the pool. Cases of families that cannot are dropped and noted.
  void prepare();
  /// Opens the journal of @p folder, after prepare(). UsageError of Journal.
  void open_journal(const fs::path& folder);
  void measure();
  /// Writes the result and prints the table. Returns the exit code.
  int finish(const fs::path& folder);

 private:
  void prepare_device();
  void prepare_drive();
  void prepare_counters();
  void prepare_families();
  void note_context();
  void switch_to(Group group);
  void prepare_domains();
  std::string ready(const Case& item);
  void give_device_back();

  const RunOptions& options_;
  const Profile& profile_;
  std::map<std::string, Mix> mixes_;
  Recorder recorder_;
  CaseSelection selection_;
  const Marker& marker_;
  RunContext context_;
  std::optional<HeapClient> heap_;
  std::optional<DeviceSession> device_;
  std::optional<DriveSession> drive_;
  std::optional<IommuCounters> counters_;
  std::optional<BufferPool> pool_;
  std::map<std::string, std::unique_ptr<Family>> families_;
  std::optional<Journal> journal_;
  Ending ending_;
};

void Runner::prepare_device() {
  const vfio::pci::DeviceInfo chosen = choose_device(options_.device);
  device_.emplace(chosen.bdf, std::max(profile_.iterations, profile_.warmup));
}

// A machine without a drive to spare still measures the rest.
void Runner::prepare_drive() {
  std::uint32_t depth = kUseDepth;
  for (const Case& item : selection_.cases())
    depth = std::max(depth, static_cast<std::uint32_t>(item.number("depth")));
  try {
    drive_.emplace(choose_drive(options_.drive, options_.device).bdf, depth);
  } catch (const UsageError& error) {
    if (options_.drive) throw;
    selection_.drop_group(Group::kDrive, error.what());
  }
}

void Runner::prepare_counters() {
  try {
    counters_.emplace(find_iommu_columns());
    if (counters_->columns().empty()) {
      counters_.reset();
      selection_.skip("iommu counters",
                      "no unit of " + iommu_units() +
                          " in /sys/bus/event_source/devices: this machine or kernel does not "
                          "count what its IOMMU does");
      return;
    }
    context_.counters = counters_->idle_check();
  } catch (const RunError& error) {
    counters_.reset();
    selection_.skip("iommu counters", error.what());
  }
}

// The same device may serve both; it has one driver at a time.
void Runner::switch_to(Group group) {
  if (!drive_ || !device_ || drive_->bdf() != device_->device().bdf) return;
  if (group == Group::kDrive) device_->release();
  if (group == Group::kModule || group == Group::kVfio) drive_->release();
}

// Asks once for each mode, so that one that the kernel refuses is known before
// the first case; then the machine's own is back.
void Runner::prepare_domains() {
  for (const std::string& mode : profile_.domains) {
    const auto in_mode = [&](const Case& item) { return item.domain() == mode; };
    if (!selection_.any(in_mode)) continue;
    switch_to(Group::kModule);
    device_->want_domain(mode);
    try {
      device_->module();
      context_.domain_modes.push_back(mode);
    } catch (const vfio::Error& error) {
      selection_.drop("domain:" + mode, error.what(), in_mode);
    }
  }
  if (device_) device_->want_domain({});
}

void Runner::prepare_families() {
  const Services services{.profile = profile_,
                          .mixes = mixes_,
                          .heap = heap_ ? &*heap_ : nullptr,
                          .pool = pool_ ? &*pool_ : nullptr,
                          .device = device_ ? &*device_ : nullptr,
                          .marker = marker_,
                          .kernel = parse_kernel_version(kernel_release()),
                          .clock = context_.clock,
                          .drive = drive_ ? &*drive_ : nullptr,
                          .counters = counters_ ? &*counters_ : nullptr};
  std::map<std::string, Group> groups;
  for (const Case& item : selection_.cases()) groups.emplace(item.family, item.group());
  for (const auto& [name, group] : groups) {
    switch_to(group);
    families_[name] = find_family(name)->make(name, services);
    if (const auto why = families_[name]->prepare()) selection_.drop_family(name, *why);
  }
  selection_.drop_unmeasurable(families_);
  note_context();
}

// What device, drive and clock tell while they are bound.
void Runner::note_context() {
  if (selection_.any(Group::kDrive)) {
    switch_to(Group::kDrive);
    Drive& drive = drive_->open();
    context_.drive = drive.json();
    if (!device_) {
      context_.device = drive.device();
      context_.domain.page_sizes = drive.space().page_sizes();
    }
  }
  switch_to(Group::kModule);
  if (device_) context_.device = device_->device();
  if (selection_.any(Group::kModule)) {
    const pagemix_target_info info = device_->module().info();
    context_.domain = {info.pgsize_bitmap, info.coherent != 0};
    context_.clock_facts = {"counter of the CPU at " + std::to_string(info.counter_hz) +
                                " Hz; CLOCK_MONOTONIC_RAW in user space",
                            ticks_to_units(info.counter_step, info.counter_hz),
                            ticks_to_units(info.sample_overhead, info.counter_hz)};
    return;
  }
  context_.clock_facts = user_clock_facts();
  if (selection_.any(Group::kVfio)) context_.domain.page_sizes = device_->vfio().page_sizes();
}

void Runner::prepare() {
  // Heal first: a run that was killed may have left a setting or a device changed.
  for (const std::string& line : restore_stale_settings()) std::cerr << "pagemix: " << line << '\n';
  const bool needs_buffers =
      selection_.any([](const Case& item) { return item.needs_module_heap(); });
  if (needs_buffers) {
    heap_.emplace();
    context_.module_version = heap_->info().module_version;
    for (const Size& size : profile_.bytes)
      if (size.bytes % heap_->info().page_size != 0)
        throw UsageError(profile_.values.at("bytes").where + ": bytes: size \"" + size.text +
                         "\" is no whole pages; allowed: multiples of " +
                         std::to_string(heap_->info().page_size));
    selection_.drop_unfillable(mixes_, heap_->info().page_size);
  }
  context_.buddyinfo_before = buddyinfo_json();
  context_.meminfo_before = meminfo_json();
  // Before any driver is bound: what binding allocates does not shape them.
  if (needs_buffers)
    pool_.emplace(*heap_, selection_.cases(), mixes_, profile_.seed, meminfo_bytes("MemAvailable"));
  if (selection_.any(Group::kModule) || selection_.any(Group::kVfio) ||
      selection_.any(Group::kDrive))
    for (const std::string& line : vfio::pci::restore_stale_bindings())
      std::cerr << "pagemix: " << line << '\n';
  if (selection_.any(Group::kModule) || selection_.any(Group::kVfio)) prepare_device();
  if (selection_.any(Group::kDrive)) prepare_drive();
  if (selection_.any(Group::kDrive)) prepare_counters();
  prepare_domains();
  prepare_families();
  if (selection_.cases().empty()) throw RunError("nothing left to measure on this machine");
}

void Runner::open_journal(const fs::path& folder) {
  const ordered_json context = context_.context(false);
  // What decides the numbers; not what is measured anew at each start.
  ordered_json setting = {{"clock", context["clock"]["kind"]},
                          {"kernel", context["kernel"]["release"]}};
  for (const char* key : {"machine", "module", "git", "config", "mixes"})
    if (context.contains(key)) setting[key] = context[key];
  journal_.emplace(folder, setting, options_.resume);
  if (options_.resume)
    std::cerr << "pagemix: " << journal_->taken_over() << " measurements taken over\n";
}

// Returns the device that the case needs.
std::string Runner::ready(const Case& item) {
  switch_to(item.group());
  if (device_) device_->want_domain(item.domain());
  switch (item.group()) {
    case Group::kModule:
    case Group::kVfio:
      return device_->name();
    case Group::kDrive:
      return drive_->bdf().text();
    case Group::kNone:
    case Group::kBuffer:
      break;
  }
  return {};
}

void Runner::measure() {
  initialize_benchmark(options_.contexts);
  // Markers often go to the console that standard error is.
  Progress progress(selection_.cases().size(), profile_.blocks,
                    /*plain=*/options_.marker.has_value());
  CaseRunner cases(selection_.cases(), families_, *journal_, recorder_, progress,
                   [this](const Case& item) { return ready(item); });
  ending_ = cases.run(profile_.seed, profile_.blocks);
}

void Runner::give_device_back() {
  families_.clear();
  const auto give_back = [&](auto& session) {
    if (!session) return;
    try {
      session->release();
    } catch (const vfio::Error& error) {
      ending_.failed = true;
      std::cerr << "pagemix: " << error.what() << '\n';
    }
  };
  give_back(drive_);
  give_back(device_);
}

int Runner::finish(const fs::path& folder) {
  if (!ending_.stopped.empty()) std::cerr << "pagemix: stopped: " << ending_.stopped << '\n';
  context_.stopped = ending_.stopped;
  give_device_back();
  pool_.reset();
  if (!ending_.complete())
    std::cerr << "pagemix: to go on, pass --resume and --out " << folder.string()
              << " to the same command\n";
  recorder_.write(folder, context_.context(ending_.complete()));
  if (ending_.complete()) journal_->remove();
  std::cout << format_table(selection_.cases(), recorder_.series(), context_.clock);
  std::cout << (folder / "run.json").string() << (ending_.complete() ? "" : " (incomplete)")
            << '\n';
  if (ending_.interrupted) return kExitInterrupted;
  return ending_.failed ? kExitRun : kExitOk;
}

}  // namespace

int run_command(const RunOptions& options) {
  const fs::path config = find_profile(options.config);
  const fs::path mixes_file =
      options.mixes_file ? fs::path(*options.mixes_file) : find_mixes_file(config);
  const std::vector<Mix> mixes = load_mixes(mixes_file, known_max_order());
  const Profile profile = load_profile(config, options.overrides, names_of(mixes));
  std::vector<Case> cases = selected_cases(profile, options.filter);
  if (options.list_tests) {
    for (const Case& item : cases) std::cout << item.name() << '\n';
    return kExitOk;
  }
  const ClockKind clock = decide_clock(options.clock);
  const std::string profile_name = options.profile.value_or(config.stem().string());
  const std::string machine = options.machine.value_or(machine_name());
  const fs::path folder =
      options.out ? fs::path(*options.out) : result_folder(utc_now(), machine, profile_name);
  if (!options.force && !options.resume) require_free(folder);

  const Interrupt interrupt;  // before anything is bound: the end restores it
  const Marker marker = options.marker ? Marker(*options.marker) : Marker();
  Runner runner(options, profile, mixes, std::move(cases), clock, marker);
  runner.context().machine = machine;
  runner.context().profile_name = profile_name;
  runner.context().started = utc_now();
  runner.context().command = options.command;
  runner.prepare();
  runner.open_journal(folder);
  runner.measure();
  return runner.finish(folder);
}

}  // namespace pagemix::bench
