// SPDX-License-Identifier: Apache-2.0
// The module's paths that allocate or copy, one call each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/kernel.hpp"

namespace pagemix::test {

/// What the paths work on.
struct Stage {
  std::string bdf;
  std::string node;
  int heap = -1;
  int buffer = -1;  ///< 64 KiB in pages, scattered
  int card = -1;    ///< vgem's
};

/// Around the call that is to fail.
struct Trigger {
  std::function<void()> arm;
  std::function<void()> disarm;
};

struct Path {
  std::string name;
  /// Arms, calls, disarms, undoes what the call did. Returns the call's errno.
  std::function<int(const Stage&, const Trigger&)> attempt;
  /// Failures below this function are left out: the kernel's own code that may not
  /// fail or that a failure turns off. "" for the usual one.
  std::string leave_out;
  /// The module is loaded inside the call, so its addresses are not known before.
  bool loads_module = false;
  /// What the kernel's own code answers besides ENOMEM and EFAULT; 0: nothing.
  int also = 0;
};

/// All paths; the operations are asked of the module, whose node `stage` names.
std::vector<Path> all_paths(const Stage& stage);

}  // namespace pagemix::test
