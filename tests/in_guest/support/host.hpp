// SPDX-License-Identifier: Apache-2.0
// Asks pagemix-guest on the host to do something to the machine.
#pragma once

#include <cstdio>
#include <iostream>
#include <string>

namespace pagemix::test {

/// Runs a QMP command, one line of JSON; returns QEMU's answer, which has
/// "return" or "error". Needs standard input and output to be the console.
inline std::string qmp(const std::string& command) {
  std::printf("\n@pagemix-guest qmp %s\n", command.c_str());
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer;
}

}  // namespace pagemix::test
