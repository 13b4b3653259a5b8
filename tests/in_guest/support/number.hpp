// SPDX-License-Identifier: Apache-2.0
// Options of test programs that are no GoogleTests: --name NUMBER.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

namespace pagemix::test {

class NumberOptions {
 public:
  /// `value` keeps its content when the option is not given.
  void add(const std::string& name, std::uint64_t& value, std::uint64_t least, std::uint64_t most) {
    options_[name] = {&value, least, most};
  }

  /// -1, or the exit code: 0 after --help, 2 after a message about bad input.
  int parse(const char* program, const char* help, int argc, char** argv) const {
    for (int i = 1; i < argc; i++) {
      const std::string name = argv[i];
      if (name == "--help" || name == "-h") {
        std::cout << help;
        return 0;
      }
      const auto found = options_.find(name);
      if (found == options_.end() || i + 1 == argc) {
        std::cerr << program << ": '" << name
                  << "': " << (found == options_.end() ? "no such option" : "wants a number")
                  << "\n"
                  << help;
        return 2;
      }
      const char* text = argv[++i];
      const auto& [value, least, most] = found->second;
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
      if (error != std::errc() || *end || number < least || number > most) {
        std::cerr << program << ": " << name << " '" << text << "': allowed are " << least << " to "
                  << most << "\n";
        return 2;
      }
      *value = number;
    }
    return -1;
  }

 private:
  struct Option {
    std::uint64_t* value;
    std::uint64_t least;
    std::uint64_t most;
  };
  std::map<std::string, Option> options_;
};

}  // namespace pagemix::test
