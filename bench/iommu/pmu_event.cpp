// SPDX-License-Identifier: Apache-2.0
#include "iommu/pmu_event.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pagemix::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kConfigs = {"config", "config1", "config2"};

// "0x1f" or "31"
std::optional<std::uint64_t> parse_value(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string read_required(const fs::path& file) {
  const auto text = vfio::read_line(file);
  if (!text) throw RunError("read " + file.string() + ": it cannot be read");
  return *text;
}

[[noreturn]] void reject(const fs::path& file, const std::string& text, const std::string& wanted) {
  throw RunError(file.string() + ": unreadable \"" + text + "\"; expected " + wanted);
}

// First CPU of "0", "0-3", "2,4"; an empty mask or none at all is CPU 0.
int read_cpu(const fs::path& folder) {
  const auto text = vfio::read_line(folder / "cpumask");
  if (!text || text->empty()) return 0;
  const auto cpu = parse_number(std::string_view(*text).substr(0, text->find_first_of(",-")));
  if (!cpu || *cpu > 1u << 20) reject(folder / "cpumask", *text, "a list of CPUs");
  return static_cast<int>(*cpu);
}

// "event=0x2" or "enable" of an event file, into @p config.
void apply_term(const fs::path& folder, const fs::path& event, std::string_view term,
                std::array<std::uint64_t, 3>& config) {
  const std::size_t equals = term.find('=');
  const std::string name(term.substr(0, equals));
  std::optional<std::uint64_t> value = 1;
  if (equals != std::string_view::npos) value = parse_value(term.substr(equals + 1));
  if (name.empty() || name.find('/') != std::string::npos || !value)
    reject(event, std::string(term), "term=value");
  const fs::path format = folder / "format" / name;
  const std::string text = read_required(format);
  const auto field = parse_pmu_format(text);
  if (!field) reject(format, text, "config:<bits>, such as config:0-15");
  if (!set_pmu_field(*field, *value, config))
    throw RunError(event.string() + ": " + std::string(term) + " does not fit in the bits \"" +
                   text + "\" of " + format.string());
}

}  // namespace

std::optional<PmuField> parse_pmu_format(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto config = std::ranges::find(kConfigs, text.substr(0, colon));
  if (config == kConfigs.end()) return std::nullopt;
  PmuField field{.config = static_cast<std::size_t>(config - kConfigs.begin()), .ranges = {}};
  for (const std::string_view part : split(text.substr(colon + 1), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last > 63) return std::nullopt;
    field.ranges.push_back({static_cast<unsigned>(*first), static_cast<unsigned>(*last)});
  }
  return field;
}

bool set_pmu_field(const PmuField& field, std::uint64_t value,
                   std::array<std::uint64_t, 3>& config) {
  for (const auto& [first, last] : field.ranges) {
    const unsigned width = last - first + 1;
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    config[field.config] |= (value & mask) << first;
    value = width == 64 ? 0 : value >> width;
  }
  return value == 0;
}

std::optional<PmuEvent> read_pmu_event(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / "events" / name;
  const auto text = vfio::read_line(file);
  if (!text) return std::nullopt;
  PmuEvent event{.unit = folder.filename().string(), .name = name};
  const std::string type = read_required(folder / "type");
  const auto number = parse_number(type);
  if (!number || *number > 0xffffffffu) reject(folder / "type", type, "a number");
  event.type = static_cast<std::uint32_t>(*number);
  event.cpu = read_cpu(folder);
  for (const std::string_view term : split(*text, ','))
    apply_term(folder, file, term, event.config);
  return event;
}

std::vector<fs::path> find_pmus(const std::string& prefix, const vfio::SystemPaths& paths) {
  std::vector<fs::path> found;
  std::error_code error;  // without perf events there is no such folder
  for (const auto& entry : fs::directory_iterator(paths.sys / "bus/event_source/devices", error))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

}  // namespace pagemix::bench
