// SPDX-License-Identifier: Apache-2.0
#include "binding_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <sstream>

#include "pagemix/vfio/error.hpp"

namespace fs = std::filesystem;

namespace pagemix::vfio::pci {
namespace {

constexpr const char* suffix = ".binding";
constexpr const char* format = "pagemix-binding-1";

}  // namespace

std::string to_text(const BindingState& state) {
  std::ostringstream out;
  out << "format=" << format << "\nbdf=" << state.bdf.text() << "\nnew_driver=" << state.new_driver
      << '\n';
  if (state.old_driver) out << "old_driver=" << *state.old_driver << '\n';
  if (state.old_override) out << "old_override=" << *state.old_override << '\n';
  if (state.old_domain) out << "old_domain=" << *state.old_domain << '\n';
  out << "pid=" << state.owner.pid << "\nstart_ticks=" << state.owner.start_ticks
      << "\nboot_id=" << state.owner.boot_id << '\n';
  return out.str();
}

BindingState parse_binding_state(const std::string& text, const std::string& origin) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      values[line.substr(0, equals)] = line.substr(equals + 1);

  const auto need = [&](const char* key) -> const std::string& {
    const auto found = values.find(key);
    if (found == values.end() || found->second.empty())
      throw Error(EPROTO, "read " + origin, std::string("no value for '") + key + "'");
    return found->second;
  };
  const auto optional = [&](const char* key) -> std::optional<std::string> {
    const auto found = values.find(key);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
  const auto number = [&](const char* key, auto& out) {
    const std::string& value = need(key);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (error != std::errc{} || end != value.data() + value.size())
      throw Error(EPROTO, "read " + origin, std::string(key) + " '" + value + "' is no number");
  };

  if (need("format") != format)
    throw Error(EPROTO, "read " + origin,
                "format '" + values["format"] + "', this program reads " + format);
  BindingState state;
  state.bdf = Bdf::parse(need("bdf"));
  state.new_driver = need("new_driver");
  state.old_driver = optional("old_driver");
  state.old_override = optional("old_override");
  state.old_domain = optional("old_domain");
  number("pid", state.owner.pid);
  number("start_ticks", state.owner.start_ticks);
  state.owner.boot_id = need("boot_id");
  return state;
}

StateFolder::StateFolder(fs::path folder, bool create) : folder_(std::move(folder)) {
  std::error_code error;
  if (create) {
    fs::create_directories(folder_, error);
    if (error) throw Error(error.value(), "make folder " + folder_.string());
  } else if (!fs::exists(folder_, error)) {
    return;
  }
  lock_ = open_file(folder_ / "lock", O_RDWR | O_CREAT, 0600);
  while (::flock(lock_.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw Error(errno, "lock " + (folder_ / "lock").string());
}

fs::path StateFolder::file_of(const Bdf& bdf) const { return folder_ / (bdf.text() + suffix); }

std::vector<Bdf> StateFolder::list() const {
  std::vector<Bdf> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != suffix) continue;
    if (const auto bdf = Bdf::try_parse(entry.path().stem().string())) found.push_back(*bdf);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<BindingState> StateFolder::load(const Bdf& bdf) const {
  const auto text = read_text(file_of(bdf));
  if (!text) return std::nullopt;
  return parse_binding_state(*text, file_of(bdf).string());
}

void StateFolder::save(const BindingState& state) const {
  const fs::path target = file_of(state.bdf);
  const fs::path temporary = target.string() + ".new";
  const std::string text = to_text(state);
  {
    const UniqueFd fd = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    errno = 0;
    if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw Error(errno != 0 ? errno : ENOSPC, "write " + temporary.string());
    if (::fsync(fd.get()) != 0) throw Error(errno, "fsync " + temporary.string());
  }
  std::error_code error;
  fs::rename(temporary, target, error);
  if (error) throw Error(error.value(), "rename " + temporary.string() + " to " + target.string());
}

void StateFolder::remove(const Bdf& bdf) const {
  std::error_code error;
  fs::remove(file_of(bdf), error);
  if (error) throw Error(error.value(), "remove " + file_of(bdf).string());
}

}  // namespace pagemix::vfio::pci
