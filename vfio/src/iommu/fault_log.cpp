// SPDX-License-Identifier: Apache-2.0
#include "pagemix/vfio/iommu/fault_log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace pagemix::vfio::iommu {
namespace {

/// Number behind `key` in `text`, hexadecimal with or without 0x; nullopt
/// without key or number.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key,
                                          int base = 16) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + key.size());
  if (base == 16 && rest.substr(0, 2) == "0x") rest.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// "00:02.0" as bus << 8 | device << 3 | function.
std::optional<std::uint32_t> requester_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (at == std::string_view::npos || std::sscanf(std::string(text.substr(at + key.size())).c_str(),
                                                  "%x:%x.%x", &bus, &device, &function) != 3)
    return std::nullopt;
  return bus << 8 | device << 3 | function;
}

std::optional<std::uint32_t> narrow(std::optional<std::uint64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// Event record words of arm-smmu-v3 (Linux 6.12, arm-smmu-v3.h): EVTQ_0_SID in
// bits 63:32 of the first, EVTQ_2_ADDR is the third.
constexpr std::size_t smmu_words = 4;

// Formats: arm_smmu_evtq_thread(), viommu_fault_handler(),
// dmar_fault_do_one(), amd_iommu_report_page_fault() of Linux 6.12 and
// arm_smmu_dump_event() of Linux 6.14.
std::optional<Fault> single_line(const std::string& text) {
  if (has(text, "arm-smmu-v3") && has(text, " iova: "))
    if (const auto iova = number_after(text, " iova: "))
      return Fault{*iova, narrow(number_after(text, " sid: ")), text};
  if (has(text, "fault from EP "))
    if (const auto iova = number_after(text, " at "))
      return Fault{*iova, narrow(number_after(text, "fault from EP ", 10)), text};
  if (has(text, "DMAR: ") && has(text, "fault addr "))
    if (const auto iova = number_after(text, "fault addr "))
      return Fault{*iova, requester_after(text, "Request device ["), text};
  if (has(text, "AMD-Vi: ") && has(text, "IO_PAGE_FAULT"))
    if (const auto iova = number_after(text, "address=")) {
      auto source = requester_after(text, "device=");
      if (!source) source = requester_after(text, " 0000:");  // "vfio-pci 0000:00:02.0: AMD-Vi:"
      return Fault{*iova, source, text};
    }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> FaultParser::feed(const std::string& message) {
  if (auto fault = single_line(message)) {
    words_.reset();
    return fault;
  }
  if (!has(message, "arm-smmu-v3")) return std::nullopt;  // other messages may come between
  if (has(message, " received:") && has(message, "event 0x")) {
    words_ = 0;
    pending_ = {0, std::nullopt, message};
    return std::nullopt;
  }
  if (!words_) return std::nullopt;
  // "arm-smmu-v3 arm-smmu-v3.0.auto: <tab>0x0000001000000010"
  const std::size_t at = message.rfind("0x");
  const auto word = at == std::string::npos
                        ? std::nullopt
                        : number_after(std::string_view(message).substr(at), "0x");
  if (!word) {
    words_.reset();
    return std::nullopt;
  }
  if (*words_ == 0) pending_.source = static_cast<std::uint32_t>(*word >> 32);
  if (*words_ == 2) pending_.iova = *word;
  if (++*words_ < smmu_words) return std::nullopt;
  words_.reset();
  return pending_;
}

FaultLog::FaultLog(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (fd_) ::lseek(fd_.get(), 0, SEEK_END);  // behind the last record
}

std::vector<Fault> FaultLog::read(std::chrono::milliseconds grace) {
  std::vector<Fault> faults;
  if (!fd_) return faults;
  const auto end = std::chrono::steady_clock::now() + grace;
  std::array<char, 8192> record;  // CONSOLE_EXT_LOG_MAX: one read is one record
  for (;;) {
    const ssize_t size = ::read(fd_.get(), record.data(), record.size());
    if (size >= 0) {
      const std::string_view text(record.data(), static_cast<std::size_t>(size));
      // "priority,sequence,time,flags;message" and lines of further properties
      const std::size_t begin = text.find(';');
      if (begin == std::string_view::npos) continue;
      const std::string_view message = text.substr(begin + 1, text.find('\n') - begin - 1);
      if (auto fault = parser_.feed(std::string(message))) faults.push_back(std::move(*fault));
      continue;
    }
    if (errno == EPIPE || errno == EINTR) continue;  // records were overwritten: go on behind
    if (errno != EAGAIN) return faults;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (!faults.empty() || left.count() <= 0) return faults;
    pollfd event{fd_.get(), POLLIN, 0};
    ::poll(&event, 1, static_cast<int>(left.count()));
  }
}

}  // namespace pagemix::vfio::iommu
