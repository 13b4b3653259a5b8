// SPDX-License-Identifier: Apache-2.0
#include "run/run.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "families/family.hpp"
#include "pagemix/vfio/error.hpp"
#include "plan/config_files.hpp"
#include "result/journal.hpp"
#include "result/result_folder.hpp"
#include "result/run_context.hpp"
#include "result/table.hpp"
#include "run/case_selection.hpp"
#include "run/progress.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kInterrupted = "interrupted";

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

/// One run: owns what the families use and drives Google Benchmark.
class Runner {
 public:
  Runner(const RunOptions& options, const Profile& profile, const std::vector<Mix>& mixes,
         std::vector<Case> cases, ClockKind clock, const Marker& marker)
      : options_(options),
        profile_(profile),
        recorder_(clock, profile.blocks),
        selection_(std::move(cases), recorder_),
        marker_(marker),
        context_{.options = options,
                 .profile = profile,
                 .mixes = mixes,
                 .machine = {},
                 .profile_name = {},
                 .clock = clock} {
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
  Measurement measure_or_take_over(const Case& item, const std::string& name, std::uint32_t block);
  void run_case(benchmark::State& state, std::size_t index, std::uint32_t block,
                Progress& progress);
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
  // Google Benchmark keeps a pointer to the first for its context.
  std::vector<std::string> benchmark_arguments_ = {"pagemix"};
  std::optional<Journal> journal_;
  bool failed_ = false;
  bool interrupted_ = false;
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
                      "no unit smmuv3_pmcg_*, dmar* or amd_iommu_* in "
                      "/sys/bus/event_source/devices: this machine or kernel does not "
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
    families_[name] = make_family(name, services);
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
        throw UsageError(profile_.where.at("bytes") + ": bytes: size \"" + size.text +
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

Measurement Runner::measure_or_take_over(const Case& item, const std::string& name,
                                         std::uint32_t block) {
  if (const Measurement* kept = journal_->find(name, block)) return *kept;
  Measurement result = families_.at(item.family)->measure(item, block);
  journal_->add(name, block, result);
  return result;
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

void Runner::run_case(benchmark::State& state, std::size_t index, std::uint32_t block,
                      Progress& progress) {
  const Case& item = selection_.cases()[index];
  if (Interrupt::requested()) {
    interrupted_ = true;
    state.SkipWithError(kInterrupted);
    return;
  }
  const std::string name = item.name();
  progress.starts(name);
  recorder_.starts(name, index, block);
  try {
    switch_to(item.group());
    if (device_) device_->want_domain(item.domain());
    const Measurement result = measure_or_take_over(item, name, block);
    recorder_.measured(result);
    // The library wants as many times as it counts iterations. What is reported
    // are the recorder's samples, of which a family may take another number.
    auto sample = result.samples.begin();
    for ([[maybe_unused]] auto _ : state)
      state.SetIterationTime(sample != result.samples.end() ? *sample++ * 1e-9 : 0);
  } catch (const GivenUp&) {
    interrupted_ = true;
    state.SkipWithError(kInterrupted);
  } catch (const std::exception& error) {
    failed_ = true;
    progress.note("pagemix: " + name + ": " + error.what());
    recorder_.skip(name, error.what());
    state.SkipWithError(error.what());
  }
  progress.finished(index);
}

void Runner::measure() {
  // Markers often go to the console that standard error is.
  Progress progress(selection_.cases().size(), profile_.blocks,
                    /*plain=*/options_.marker.has_value());
  benchmark_arguments_.insert(benchmark_arguments_.end(), options_.contexts.begin(),
                              options_.contexts.end());
  std::vector<char*> argv;
  for (std::string& argument : benchmark_arguments_) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  // Registered in the order they shall run; the library keeps it.
  for (std::uint32_t block = 0; block < profile_.blocks; ++block)
    for (const std::size_t index : block_order(selection_.cases(), profile_.seed, block))
      benchmark::RegisterBenchmark(selection_.cases()[index].name().c_str(),
                                   [this, index, block, &progress](benchmark::State& state) {
                                     run_case(state, index, block, progress);
                                   })
          ->Iterations(profile_.iterations)
          ->UseManualTime();
  benchmark::RunSpecifiedBenchmarks(&recorder_, ".");
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
}

void Runner::give_device_back() {
  families_.clear();
  const auto give_back = [&](auto& session) {
    if (!session) return;
    try {
      session->release();
    } catch (const vfio::Error& error) {
      failed_ = true;
      std::cerr << "pagemix: " << error.what() << '\n';
    }
  };
  give_back(drive_);
  give_back(device_);
}

int Runner::finish(const fs::path& folder) {
  interrupted_ = interrupted_ || Interrupt::requested();
  give_device_back();
  pool_.reset();
  recorder_.write(folder, context_.context(!interrupted_));
  if (!interrupted_) journal_->remove();
  std::cout << format_table(selection_.cases(), recorder_.series(), context_.clock);
  std::cout << (folder / "run.json").string() << (interrupted_ ? " (incomplete)" : "") << '\n';
  if (interrupted_) return kExitInterrupted;
  return failed_ ? kExitRun : kExitOk;
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
  const fs::path folder = result_folder(options, machine, profile_name);
  require_free(folder, options);

  const Interrupt interrupt;  // before anything is bound: the end restores it
  const Marker marker = options.marker ? Marker(*options.marker) : Marker();
  Runner runner(options, profile, mixes, std::move(cases), clock, marker);
  runner.context().machine = machine;
  runner.context().profile_name = profile_name;
  runner.context().started = utc_now();
  runner.prepare();
  runner.open_journal(folder);
  runner.measure();
  return runner.finish(folder);
}

}  // namespace pagemix::bench
