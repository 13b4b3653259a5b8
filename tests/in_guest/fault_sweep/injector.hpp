// SPDX-License-Identifier: Apache-2.0
// Lets the N-th allocation or user copy of one thread fail, once.
// Documentation/fault-injection/fault-injection.rst of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/kernel.hpp"

namespace pagemix::test {

/// Addresses of code: [begin, end).
struct Code {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The module's code, of /proc/modules.
Code module_code(const std::string& module);
/// A function's, of /proc/kallsyms. std::runtime_error if the kernel has none of that name.
Code function_code(const std::string& name);

class Injector {
 public:
  /// Takes every kind of allocation and of user copy in, whatever its flags.
  /// std::runtime_error, with what the kernel lacks, where that cannot be had.
  Injector();
  /// Every setting as it was.
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  /// Only failures with `inside` among their callers, and without `outside`.
  void only(const Code& inside, const Code& outside);

  /// From now on this thread's n-th (from 1) fails.
  void arm(unsigned n);
  /// Nothing fails any more. Returns whether the n-th came, and so failed.
  bool disarm();

 private:
  void set(const std::string& path, const std::string& value);

  struct Setting {
    std::string path;
    std::string before;
  };
  std::vector<Setting> settings_;
  Fd fail_nth_;
};

}  // namespace pagemix::test
