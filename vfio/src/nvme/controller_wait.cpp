// SPDX-License-Identifier: Apache-2.0
// Waiting for completions, and what is said and done when they do not come.
#include <nvme/types.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/nvme/controller.hpp"

namespace pagemix::vfio::nvme {
namespace {

// While waiting the clock is looked at every so many polls, and the device at
// every interval: its registers are slow, and the kernel has to be asked too.
constexpr unsigned polls_per_look = 256;
constexpr std::chrono::milliseconds check_interval(10);
constexpr std::uint32_t waits_per_look = 1024;

}  // namespace

unsigned Controller::wait(IoQueue& queue, std::span<Completion> completions) {
  // Who never waits long would never look: the kernel's request has to be seen.
  if (++waits_ % waits_per_look == 0 && device_.removal_requested())
    fail("wait for I/O queue " + std::to_string(queue.id()) + " of " + name_, Trouble::removal,
         queue.in_flight());
  if (const unsigned count = queue.poll(completions)) return count;
  const std::string operation = "wait for I/O queue " + std::to_string(queue.id());
  require_running(operation);
  if (queue.outstanding() == queue.prepared() || completions.empty())
    throw Error(EINVAL, operation + " of " + name_,
                completions.empty() ? "no room for completions" : "nothing is with the device");
  auto now = std::chrono::steady_clock::now();
  const auto end = now + options_.command_timeout;
  auto next_check = std::min(end, now + check_interval);
  for (;;) {
    for (unsigned i = 0; i < polls_per_look; ++i)
      if (const unsigned count = queue.poll(completions)) return count;
    now = std::chrono::steady_clock::now();
    if (now < next_check) continue;
    next_check = std::min(end, now + check_interval);
    const Trouble found = trouble(end);
    if (found == Trouble::none) continue;
    // It may have completed between the last poll and the look.
    if (const unsigned count = queue.poll(completions)) return count;
    fail(operation + " of " + name_, found, queue.in_flight());
  }
}

void Controller::drain(IoQueue& queue) {
  std::optional<Completion> failed;
  Completion completions[32];
  while (queue.outstanding() != 0) {
    queue.ring();
    const unsigned count = wait(queue, completions);
    for (unsigned i = 0; i < count; ++i)
      if (!completions[i].status.ok() && !failed) failed = completions[i];
  }
  if (failed)
    throw Error(EIO, "command with tag " + std::to_string(failed->tag) + " of " + name_,
                failed->status.text());
}

Controller::Trouble Controller::trouble(std::chrono::steady_clock::time_point end) const {
  const std::uint32_t csts = registers_.status();
  if (csts == Registers::all_ones) return Trouble::gone;
  if (device_.removal_requested()) return Trouble::removal;
  if (NVME_CSTS_CFS(csts) != 0) return Trouble::fatal;
  return std::chrono::steady_clock::now() >= end ? Trouble::late : Trouble::none;
}

void Controller::fail(const std::string& operation, Trouble found,
                      const std::vector<InFlight>& commands) {
  std::string in_flight;
  constexpr std::size_t named = 4;
  if (!commands.empty()) {
    in_flight = "; in flight: ";
    for (std::size_t i = 0; i < std::min(named, commands.size()); ++i)
      in_flight += (i == 0 ? "" : ", ") + commands[i].text();
    if (commands.size() > named)
      in_flight += " and " + std::to_string(commands.size() - named) + " more";
  }
  const std::uint32_t csts = registers_.status();
  stop();
  std::string refused;
  for (const iommu::Fault& fault : faults_.read(std::chrono::milliseconds(100)))
    if (is_own(fault))
      refused += "; the IOMMU refused IOVA " + hex(fault.iova) + " (kernel: " + fault.text + ")";
  const std::string reset = "; the controller was reset";
  switch (found) {
    case Trouble::gone:
      throw Error(ENODEV, operation,
                  "the registers read all ones: the device is gone" + in_flight + refused);
    case Trouble::removal:
      throw Error(ENODEV, operation,
                  "the kernel asks for the device back, it is being unplugged or unbound" + reset +
                      in_flight + refused);
    case Trouble::fatal:
      throw Error(
          EIO, operation,
          "controller fatal status (CSTS read " + hex(csts) + ")" + reset + in_flight + refused);
    default:
      throw Error(ETIMEDOUT, operation,
                  "no completion within " + std::to_string(options_.command_timeout.count()) +
                      " ms (CSTS read " + hex(csts) + ")" + reset + in_flight + refused);
  }
}

bool Controller::is_own(const iommu::Fault& fault) const {
  if (!fault.source) return true;
  // Boards may give other stream ids; then nothing but the IOVA can tell.
  const pci::Bdf& bdf = device_.info().bdf;
  const std::uint32_t rid = std::uint32_t{bdf.bus} << 8 | bdf.device << 3 | bdf.function;
  return *fault.source == rid || device_.info().iommu_driver.rfind("arm-smmu", 0) == 0;
}

void Controller::check_faults(std::chrono::milliseconds grace) {
  for (const iommu::Fault& fault : faults_.read(grace))
    if (is_own(fault))
      throw Error(
          EFAULT, "DMA of " + name_,
          "the IOMMU refused an access at IOVA " + hex(fault.iova) +
              ": nothing is mapped there, or not for this direction (kernel: " + fault.text + ")");
}

}  // namespace pagemix::vfio::nvme
