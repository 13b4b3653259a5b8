// SPDX-License-Identifier: Apache-2.0
#include "families/use/frame_keys.hpp"

#include "base/text.hpp"

namespace pagemix::bench {

std::vector<Frame> frames_of(const Value& value) {
  std::vector<Frame> given;
  for (const std::string& word : any_words(value, kFrameNames)) {
    const auto frame = parse_frame(word);
    if (!frame) value.reject("unreadable frame \"" + word + "\"", kFrameNames);
    given.push_back(*frame);
  }
  return given;
}

std::uint32_t columns_of(const Value& value) {
  return static_cast<std::uint32_t>(number(value, 0, 256));
}

Parts frame_parts(const Frame& frame) {
  return {{"frame", frame.name}, {"bytes", std::to_string(frame.buffer_bytes())}};
}

std::vector<Parts> columns_axis(const Profile& profile, const Case&) {
  const std::uint32_t columns = kColumns.of(profile);
  const std::string text = std::to_string(columns);
  return {{{"columns", text, columns == 0 ? "" : text}}};
}

}  // namespace pagemix::bench
