// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/pci/binding.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "binding_state.hpp"
#include "fake_system.hpp"

namespace pagemix::vfio::pci {
namespace {

using test::FakeSystem;
using Texts = std::vector<std::string>;

constexpr const char* device = "0000:00:04.0";
const Bdf bdf = *Bdf::try_parse(device);

struct BindingTest : testing::Test {
  FakeSystem system;

  BindingTest() {
    system.add_pci(device, "1b36:0010", "0x010802");
    system.add_block("pci0000:00/0000:00:04.0/nvme/nvme0", "nvme0n1", "259:0");
    for (const char* driver : {"nvme", "vfio-pci", "pagemix", "other"}) system.add_driver(driver);
    system.set_driver(device, "nvme");
    system.add_group(1, {device}, "DMA");
  }
  std::filesystem::path state_file() const {
    return system.state_folder() / (std::string(device) + ".binding");
  }
  bool has_state() const { return std::filesystem::exists(state_file()); }
  void expect_original(const std::string& driver = "nvme",
                       const std::string& override_ = "(null)") {
    EXPECT_EQ(system.driver_of(device), driver);
    EXPECT_EQ(system.override_of(device), override_);
    EXPECT_FALSE(has_state());
  }
  /// Binds in a child that ends without unwinding at write number `last`
  /// (0: after the bind). Its end is waited for, so that its pid is gone.
  void crash_at(int last) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (last != 0)
        system.before_write = [last](int n) { return n == last ? (::_exit(0), 0) : 0; };
      auto* binding = new Binding(bdf, "vfio-pci", system.options());
      ::_exit(binding->active() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
};

TEST_F(BindingTest, BindsAndRestores) {
  {
    const Binding binding(bdf, "vfio-pci", system.options());
    EXPECT_TRUE(binding.active());
    EXPECT_EQ(system.driver_of(device), "vfio-pci");
    EXPECT_EQ(system.override_of(device), "vfio-pci");
    EXPECT_TRUE(has_state());
  }
  expect_original();
  EXPECT_EQ(system.log, (Texts{"override vfio-pci", "unbind nvme", "bind vfio-pci",
                               "unbind vfio-pci", "override nvme", "bind nvme", "override "}));
}

TEST_F(BindingTest, WritesTheStateBeforeItChangesAnything) {
  bool seen = false;
  system.before_write = [&](int number) {
    if (number == 1) seen = has_state() && system.driver_of(device) == "nvme";
    return 0;
  };
  const Binding binding(bdf, "pagemix", system.options());
  EXPECT_TRUE(seen);
}

TEST_F(BindingTest, ADeviceWithoutDriverGetsNoneBack) {
  system.set_driver(device, "");
  { const Binding binding(bdf, "pagemix", system.options()); }
  expect_original("");
}

TEST_F(BindingTest, RestoresAnOldOverride) {
  system.put("sys/devices/pci0000:00/0000:00:04.0/driver_override", "other\n");
  { const Binding binding(bdf, "pagemix", system.options()); }
  // nvme was bound before the override named another driver.
  expect_original("nvme", "other");
}

TEST_F(BindingTest, LeavesADeviceThatHasTheDriver) {
  system.set_driver(device, "vfio-pci");
  {
    const Binding binding(bdf, "vfio-pci", system.options());
    EXPECT_FALSE(binding.active());
  }
  EXPECT_TRUE(system.log.empty());
  expect_original("vfio-pci");
}

TEST_F(BindingTest, RestoreMayBeCalledTwice) {
  Binding binding(bdf, "pagemix", system.options());
  binding.restore();
  expect_original();
  const std::size_t writes = system.log.size();
  binding.restore();
  EXPECT_EQ(system.log.size(), writes);
}

TEST_F(BindingTest, MovesOwnership) {
  Binding first(bdf, "pagemix", system.options());
  {
    const Binding second(std::move(first));
    EXPECT_FALSE(first.active());
    EXPECT_EQ(system.driver_of(device), "pagemix");
  }
  expect_original();
}

TEST_F(BindingTest, AForkedChildDoesNotRestore) {
  Binding binding(bdf, "pagemix", system.options());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    binding.restore();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(system.driver_of(device), "pagemix");
}

TEST_F(BindingTest, RefusesADeviceInUseAndChangesNothing) {
  system.put("proc/self/mountinfo", "22 1 259:0 / / rw shared:1 - ext4 /dev/root rw\n");
  EXPECT_THROW(Binding(bdf, "vfio-pci", system.options()), DeviceInUse);
  EXPECT_TRUE(system.log.empty());
  expect_original();
}

TEST_F(BindingTest, RefusesASharedGroupForVfioOnly) {
  system.add_pci("0000:00:05.0", "1af4:1041", "0x020000");
  system.set_driver("0000:00:05.0", "other");
  system.add_group(1, {device, "0000:00:05.0"}, "DMA");
  EXPECT_THROW(Binding(bdf, "vfio-pci", system.options()), GroupNotViable);
  EXPECT_TRUE(system.log.empty());
  EXPECT_NO_THROW(Binding(bdf, "pagemix", system.options()));
}

TEST_F(BindingTest, RefusesWrongNames) {
  const auto errnum_of = [&](const Bdf& address, const std::string& driver) {
    try {
      Binding(address, driver, system.options());
    } catch (const Error& error) {
      return error.errnum();
    }
    return 0;
  };
  EXPECT_EQ(errnum_of(bdf, "nosuch"), ENOENT);
  EXPECT_EQ(errnum_of(bdf, ""), EINVAL);
  EXPECT_EQ(errnum_of(bdf, "../nvme"), EINVAL);
  EXPECT_EQ(errnum_of(Bdf::parse("00:1f.7"), "vfio-pci"), ENODEV);
  system.add_pci("0000:00:06.0", "8086:0001", "0x060400");
  EXPECT_EQ(errnum_of(Bdf::parse("00:06.0"), "pagemix"), EINVAL);
  EXPECT_TRUE(system.log.empty());
}

TEST_F(BindingTest, AFailedProbeRestores) {
  system.probe_failures = {{"vfio-pci", ENODEV}};
  try {
    Binding(bdf, "vfio-pci", system.options());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), ENODEV) << error.what();
  }
  expect_original();
}

TEST_F(BindingTest, VfioWithoutAnIommuIsExplained) {
  system.probe_failures = {{"vfio-pci", EINVAL}};
  try {
    Binding(bdf, "vfio-pci", system.options());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "bind 0000:00:04.0 to vfio-pci: EINVAL: VFIO takes no device without an IOMMU "
                 "group");
  }
  expect_original();
}

TEST_F(BindingTest, EveryFailedWriteRestores) {
  for (int failing = 1; failing <= 3; ++failing) {
    int count = 0;
    system.before_write = [&](int) { return ++count == failing ? EIO : 0; };
    EXPECT_THROW(Binding(bdf, "vfio-pci", system.options()), Error) << failing;
    expect_original();
  }
}

TEST_F(BindingTest, AFailedRestoreKeepsTheStateForTheNextStart) {
  {
    Binding binding(bdf, "vfio-pci", system.options());
    system.probe_failures = {{"nvme", EIO}};
    EXPECT_THROW(binding.restore(), Error);
    EXPECT_TRUE(has_state());
    system.probe_failures.clear();
  }
  expect_original();  // the destructor tried again
}

TEST_F(BindingTest, AProcessCannotBindTwice) {
  const Binding binding(bdf, "vfio-pci", system.options());
  try {
    Binding(bdf, "pagemix", system.options());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), EBUSY);
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid()) + " holds it"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(system.driver_of(device), "vfio-pci");
}

TEST_F(BindingTest, RestoresAfterACrashAtAnyWrite) {
  for (int last = 0; last <= 3; ++last) {
    crash_at(last);
    ASSERT_TRUE(has_state()) << last;
    const Texts report = restore_stale_bindings(system.options());
    ASSERT_EQ(report.size(), 1U) << last;
    EXPECT_NE(report[0].find("0000:00:04.0: restored driver nvme (process "), std::string::npos)
        << report[0];
    expect_original();
    EXPECT_TRUE(restore_stale_bindings(system.options()).empty()) << "not idempotent";
  }
}

TEST_F(BindingTest, RestoresAfterACrashDuringTheRestore) {
  for (int last = 1; last <= 4; ++last) {
    crash_at(0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int count = 0;
      system.before_write = [&](int) { return ++count == last ? (::_exit(0), 0) : 0; };
      restore_stale_bindings(system.options());
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(restore_stale_bindings(system.options()).size(), 1U) << last;
    expect_original();
  }
}

TEST_F(BindingTest, TheNextBindRestoresFirst) {
  crash_at(0);
  { const Binding binding(bdf, "pagemix", system.options()); }
  expect_original();
}

TEST_F(BindingTest, LeavesBindingsOfLivingProcessesAlone) {
  const Binding binding(bdf, "vfio-pci", system.options());
  EXPECT_TRUE(restore_stale_bindings(system.options()).empty());
  EXPECT_EQ(system.driver_of(device), "vfio-pci");
}

TEST_F(BindingTest, APidThatIsUsedAgainIsAnotherProcess) {
  ProcessIdentity process = current_process();
  EXPECT_TRUE(is_running(process));
  --process.start_ticks;  // an earlier process of the same number
  EXPECT_FALSE(is_running(process));
}

TEST_F(BindingTest, AnotherBootIsAnotherProcess) {
  ProcessIdentity process = current_process();
  process.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(is_running(process));
}

TEST_F(BindingTest, LeavesADriverThatSomebodyElseBound) {
  crash_at(0);
  system.set_driver(device, "other");
  const Texts report = restore_stale_bindings(system.options());
  ASSERT_EQ(report.size(), 1U);
  EXPECT_NE(report[0].find("left on driver other"), std::string::npos) << report[0];
  expect_original("other");
}

TEST_F(BindingTest, ForgetsADeviceThatIsGone) {
  crash_at(0);
  std::filesystem::remove(system.paths().sys / "bus/pci/devices" / device);
  const Texts report = restore_stale_bindings(system.options());
  ASSERT_EQ(report.size(), 1U);
  EXPECT_NE(report[0].find("the device is gone"), std::string::npos);
  EXPECT_FALSE(has_state());
}

TEST_F(BindingTest, ReportsAnUnreadableStateAndKeepsIt) {
  std::filesystem::create_directories(system.state_folder());
  std::ofstream(state_file()) << "format=pagemix-binding-1\n";
  const Texts report = restore_stale_bindings(system.options());
  ASSERT_EQ(report.size(), 1U);
  EXPECT_NE(report[0].find("no value for 'bdf'"), std::string::npos) << report[0];
  EXPECT_TRUE(has_state());
}

TEST_F(BindingTest, NothingToRestoreMakesNoFolder) {
  EXPECT_TRUE(restore_stale_bindings(system.options()).empty());
  EXPECT_FALSE(std::filesystem::exists(system.state_folder()));
}

struct DomainTest : BindingTest {
  std::string domain() const {
    return read_line(system.paths().sys / "kernel/iommu_groups/1/type").value_or("");
  }
  void expect_all_original() {
    expect_original();
    EXPECT_EQ(domain(), "DMA");
  }
};

TEST_F(DomainTest, ChangesWhileNoDriverIsBoundAndRestores) {
  {
    Binding binding(bdf, "pagemix", system.options());
    system.log.clear();
    binding.set_domain("identity");
    EXPECT_EQ(domain(), "identity");
    EXPECT_EQ(system.driver_of(device), "pagemix");
    EXPECT_EQ(system.log,
              (Texts{"override pagemix", "unbind pagemix", "domain identity", "bind pagemix"}));
    binding.set_domain("DMA-FQ");
    EXPECT_EQ(domain(), "DMA-FQ");
    system.log.clear();
  }
  expect_all_original();
  // The old domain is there before the old driver.
  EXPECT_EQ(system.log,
            (Texts{"unbind pagemix", "domain DMA", "override nvme", "bind nvme", "override "}));
}

TEST_F(DomainTest, TheSameTypeChangesNothing) {
  Binding binding(bdf, "pagemix", system.options());
  system.log.clear();
  binding.set_domain("DMA");
  EXPECT_TRUE(system.log.empty());
}

TEST_F(DomainTest, OfADeviceThatHadTheDriverComesBackToo) {
  system.set_driver(device, "pagemix");
  {
    Binding binding(bdf, "pagemix", system.options());
    binding.set_domain("DMA-FQ");
    EXPECT_TRUE(binding.active());
    EXPECT_TRUE(has_state());
  }
  expect_original("pagemix");
  EXPECT_EQ(domain(), "DMA");
}

TEST_F(DomainTest, ARefusalNamesTheDriversOfTheGroup) {
  system.add_pci("0000:00:05.0", "1af4:1041", "0x020000");
  system.set_driver("0000:00:05.0", "other");
  system.add_group(1, {device, "0000:00:05.0"}, "DMA");
  {
    Binding binding(bdf, "pagemix", system.options());
    try {
      binding.set_domain("identity");
      FAIL() << "no error";
    } catch (const GroupNotViable& error) {
      EXPECT_NE(std::string(error.what()).find("0000:00:05.0 (driver other)"), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(system.driver_of(device), "pagemix");
  }
  expect_all_original();
}

TEST_F(DomainTest, ATypeThatIsNotOfferedIsAnError) {
  for (const int errnum : {EINVAL, 0}) {
    system.type_failures = {{"DMA-FQ", errnum}};
    Binding binding(bdf, "pagemix", system.options());
    try {
      binding.set_domain("DMA-FQ");
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.errnum(), errnum != 0 ? errnum : ENOTSUP);
      EXPECT_NE(std::string(error.what()).find("does not offer it: it is DMA"), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(system.driver_of(device), "pagemix");
    binding.restore();
    expect_all_original();
  }
}

TEST_F(DomainTest, ADeviceWithoutAGroupHasNoDomain) {
  std::filesystem::remove(system.paths().sys / "bus/pci/devices" / device / "iommu_group");
  Binding binding(bdf, "pagemix", system.options());
  try {
    binding.set_domain("identity");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.errnum(), ENODEV);
  }
}

// Bind is writes 1 to 3, the change 4 to 7.
TEST_F(DomainTest, RestoresAfterACrashAtAnyWrite) {
  for (int last = 1; last <= 8; ++last) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      system.before_write = [last](int n) { return n == last ? (::_exit(0), 0) : 0; };
      auto* binding = new Binding(bdf, "pagemix", system.options());
      binding->set_domain("identity");
      ::_exit(last == 8 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << last;
    ASSERT_EQ(restore_stale_bindings(system.options()).size(), 1U) << last;
    expect_all_original();
  }
}

TEST_F(DomainTest, ADomainThatCannotComeBackDoesNotKeepTheDriverAway) {
  Binding binding(bdf, "pagemix", system.options());
  binding.set_domain("identity");
  system.type_failures = {{"DMA", EPERM}};
  EXPECT_THROW(binding.restore(), Error);
  EXPECT_EQ(system.driver_of(device), "nvme");
  EXPECT_TRUE(has_state());
  system.type_failures.clear();
  binding.restore();
  expect_all_original();
}

TEST(BindingState, RoundTrips) {
  BindingState state{bdf, "vfio-pci", "nvme", std::nullopt, current_process()};
  EXPECT_EQ(parse_binding_state(to_text(state), "x"), state);
  state.old_driver = std::nullopt;
  state.old_override = "other";
  state.old_domain = "DMA-FQ";
  EXPECT_EQ(parse_binding_state(to_text(state), "x"), state);
}

TEST(BindingState, RefusesMalformedText) {
  const std::string good = to_text({bdf, "vfio-pci", "nvme", std::nullopt, current_process()});
  const auto replaced = [&](const std::string& key, const std::string& line) {
    const std::size_t at = good.find(key + "=");
    return good.substr(0, at) + line + good.substr(good.find('\n', at));
  };
  for (const std::string& text :
       {std::string(), replaced("format", "format=2"), replaced("bdf", "bdf=x"),
        replaced("pid", "pid=12x"), replaced("pid", "pid=99999999999999999999"),
        replaced("start_ticks", "start_ticks=-1"), replaced("new_driver", "new_driver="),
        replaced("boot_id", "")})
    EXPECT_THROW(parse_binding_state(text, "file"), Error) << text;
}

}  // namespace
}  // namespace pagemix::vfio::pci
