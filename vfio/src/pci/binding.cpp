// SPDX-License-Identifier: Apache-2.0
// Order of a bind: state file, driver_override, unbind, bind. Every prefix of
// it can be undone from the state file alone, which is what a crash leaves. A
// change of the domain's type is noted there too, and made between unbind and bind.
#include "pagemix/vfio/pci/binding.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

#include "binding_state.hpp"
#include "pagemix/vfio/error.hpp"
#include "pagemix/vfio/pci/discovery.hpp"

namespace fs = std::filesystem;

namespace pagemix::vfio::pci {
namespace {

bool is_vfio(const std::string& driver) { return driver.find("vfio") != std::string::npos; }

/// The sysfs files through which one device changes drivers.
class Switch {
 public:
  Switch(const Bdf& bdf, const BindOptions& options) : bdf_(bdf), options_(options) {}

  fs::path folder() const { return device_folder(bdf_, options_.paths); }
  fs::path driver_folder(const std::string& driver) const {
    return options_.paths.sys / "bus/pci/drivers" / driver;
  }
  std::optional<std::string> driver() const { return link_name(folder() / "driver"); }

  void set_override(const std::optional<std::string>& driver) const {
    // An empty line clears the override.
    put(folder() / "driver_override", driver.value_or("") + "\n");
  }
  void unbind(const std::string& driver) const {
    put(driver_folder(driver) / "unbind", bdf_.text());
  }
  /// Type of the IOMMU group's default domain; nullopt without a group.
  std::optional<std::string> domain() const { return read_line(folder() / "iommu_group/type"); }
  void set_domain(const std::string& type) const {
    const fs::path path = folder() / "iommu_group/type";
    const int errnum = options_.write(path, type);
    if (domain() == type) return;
    const std::string operation = "set the domain of " + bdf_.text() + " to " + type;
    // iommu_group_store_type() of drivers/iommu/iommu.c: EPERM for a group with an owner.
    if (errnum == EPERM) check_group_viable(read_device(bdf_, options_.paths), options_.paths);
    throw Error(errnum != 0 ? errnum : ENOTSUP, operation,
                errnum == EPERM ? "the kernel changes it only while no device of the IOMMU group "
                                  "has a driver or is open through VFIO"
                : errnum == EACCES ? "needs CAP_SYS_ADMIN and CAP_SYS_RAWIO"
                : errnum == EINVAL || errnum == 0
                    ? "the IOMMU driver, or the kernel for this device, does not offer it: it is " +
                          domain().value_or("not told")
                    : "");
  }
  void bind(const std::string& driver) const {
    const fs::path path = driver_folder(driver) / "bind";
    const int errnum = options_.write(path, bdf_.text());
    // Something else may have bound it to this driver in between: that is as good.
    if (this->driver() == driver) return;
    throw Error(errnum != 0 ? errnum : ENODEV, "bind " + bdf_.text() + " to " + driver,
                errnum == EINVAL && is_vfio(driver) ? "VFIO takes no device without an IOMMU group"
                : errnum == 0 ? "the driver did not take the device; see dmesg"
                              : "");
  }

 private:
  void put(const fs::path& path, const std::string& text) const {
    if (const int errnum = options_.write(path, text); errnum != 0)
      throw Error(errnum, "write '" + text.substr(0, text.find('\n')) + "' to " + path.string());
  }

  const Bdf& bdf_;
  const BindOptions& options_;
};

/// Brings back what `state` tells, from any point of bind or restore. Returns
/// what was done, for a report.
std::string restore_state(const BindingState& state, const StateFolder& folder,
                          const BindOptions& options) {
  const Switch device(state.bdf, options);
  std::error_code error;
  if (!fs::exists(device.folder(), error)) {
    folder.remove(state.bdf);
    return "the device is gone, nothing to restore";
  }
  const std::optional<std::string> current = device.driver();
  std::string done =
      "restored " + (state.old_driver ? "driver " + *state.old_driver : std::string("no driver"));
  const bool other_domain = state.old_domain && device.domain() != state.old_domain;
  std::optional<Error> failure;
  if (current && current != state.old_driver && current != state.new_driver) {
    done = "left on driver " + *current + ", which somebody else has bound";
    if (other_domain) done += ", with its domain " + device.domain().value_or("not told");
  } else if (current != state.old_driver || other_domain) {
    if (current) device.unbind(*current);
    try {
      if (other_domain) {
        device.set_domain(*state.old_domain);
        done += " and domain " + *state.old_domain;
      }
    } catch (const Error& refused) {
      failure = refused;  // the old driver comes back all the same
    }
    if (state.old_driver) {
      // With the override naming it the old driver takes the device in any
      // case, also where it came by a dynamic id or another override.
      device.set_override(state.old_driver);
      device.bind(*state.old_driver);
    }
  }
  device.set_override(state.old_override);
  if (failure) throw *failure;  // with the state file left, for the next start
  folder.remove(state.bdf);
  return done;
}

void check_bindable(const DeviceInfo& device, const std::string& driver,
                    const BindOptions& options) {
  const std::string operation = "bind " + device.bdf.text() + " to " + driver;
  std::error_code error;
  if (!fs::exists(options.paths.sys / "bus/pci/drivers" / driver, error))
    throw Error(ENOENT, operation, "the driver is not loaded: modprobe " + driver);
  if (device.is_bridge())
    throw Error(EINVAL, operation, "the device is a bridge, the devices behind it would be lost");
  check_not_in_use(device.bdf, options.paths, options.probe);
  if (is_vfio(driver)) check_group_viable(device, options.paths);
}

}  // namespace

Binding::Binding(const Bdf& bdf, const std::string& driver, BindOptions options)
    : bdf_(bdf), driver_(driver), options_(std::move(options)), owner_pid_(::getpid()) {
  const std::string operation = "bind " + bdf.text() + " to '" + driver + "'";
  if (driver.empty() || driver.find('/') != std::string::npos)
    throw Error(EINVAL, operation, "allowed: the name of a PCI driver");
  read_device(bdf, options_.paths);  // before a state folder is made for a wrong name

  const StateFolder folder(options_.state_folder, true);
  if (const auto stale = folder.load(bdf)) {
    if (is_running(stale->owner))
      throw Error(EBUSY, operation,
                  "process " + std::to_string(stale->owner.pid) + " holds it on driver " +
                      stale->new_driver + " (" + folder.file_of(bdf).string() + ")");
    restore_state(*stale, folder, options_);
  }
  const DeviceInfo device = read_device(bdf, options_.paths);
  if (device.driver == driver) return;
  check_bindable(device, driver, options_);

  const BindingState state{bdf, driver, device.driver, device.driver_override, current_process()};
  folder.save(state);
  try {
    const Switch files(bdf_, options_);
    files.set_override(driver);
    if (device.driver) files.unbind(*device.driver);
    files.bind(driver);
    active_ = true;
  } catch (const Error& failure) {
    try {
      restore_state(state, folder, options_);
    } catch (const Error& second) {
      throw Error(failure.errnum(), operation,
                  std::string(failure.what()) + "; then giving it back failed too: " +
                      second.what() + "; the next start tries again");
    }
    throw;
  }
}

void Binding::set_domain(const std::string& type) {
  const Switch files(bdf_, options_);
  const std::optional<std::string> current = files.domain();
  if (!current)
    throw Error(ENODEV, "set the domain of " + bdf_.text() + " to " + type,
                "the device has no IOMMU group: no IOMMU translates for it");
  if (current == type) return;
  const StateFolder folder(options_.state_folder, true);
  BindingState state = folder.load(bdf_).value_or(
      BindingState{bdf_, driver_, driver_, read_device(bdf_, options_.paths).driver_override,
                   current_process()});
  if (!state.old_domain) state.old_domain = current;
  folder.save(state);
  active_ = true;
  files.set_override(driver_);
  files.unbind(driver_);
  try {
    files.set_domain(type);
  } catch (const Error&) {
    files.bind(driver_);
    throw;
  }
  files.bind(driver_);
  // The kernel may have settled for another type when the driver probed.
  if (const auto now = files.domain(); now != type)
    throw Error(ENOTSUP, "set the domain of " + bdf_.text() + " to " + type,
                "the IOMMU driver does not offer it: with a driver bound it is " +
                    now.value_or("not told"));
}

Binding::Binding(Binding&& other) noexcept
    : bdf_(other.bdf_),
      driver_(std::move(other.driver_)),
      options_(std::move(other.options_)),
      owner_pid_(other.owner_pid_),
      active_(std::exchange(other.active_, false)) {}

Binding::~Binding() {
  try {
    restore();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagemix: %s\n", error.what());
  }
}

void Binding::restore() {
  if (!active_ || owner_pid_ != ::getpid()) return;
  const StateFolder folder(options_.state_folder, true);
  if (const auto state = folder.load(bdf_)) restore_state(*state, folder, options_);
  active_ = false;
}

std::vector<std::string> restore_stale_bindings(const BindOptions& options) {
  std::vector<std::string> report;
  const StateFolder folder(options.state_folder, false);
  for (const Bdf& bdf : folder.list()) {
    try {
      const auto state = folder.load(bdf);
      if (!state || is_running(state->owner)) continue;
      report.push_back(bdf.text() + ": " + restore_state(*state, folder, options) + " (process " +
                       std::to_string(state->owner.pid) + " is gone)");
    } catch (const Error& error) {
      report.push_back(bdf.text() + ": not restored: " + error.what());
    }
  }
  return report;
}

}  // namespace pagemix::vfio::pci
