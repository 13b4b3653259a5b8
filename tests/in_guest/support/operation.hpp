// SPDX-License-Identifier: Apache-2.0
// What an operation of the module wants of a run, for tests that run them all.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "pagemix.h"

namespace pagemix::test {

/// Names the operation and gives it what it takes: `buffer` or no dma-buf, and
/// small parameters. One that is not known here gets the buffer and none.
inline void set_operation(pagemix_target_run& run, const std::string& op, int buffer) {
  std::memset(run.op, 0, sizeof(run.op));
  op.copy(run.op, sizeof(run.op) - 1);
  std::memset(run.params, 0, sizeof(run.params));
  run.fd = -1;
  if (op.starts_with("coherent_")) {
    run.params[PAGEMIX_COHERENT_BYTES] = 64 << 10;
  } else if (op.starts_with("pool_")) {
    run.params[PAGEMIX_POOL_BLOCK] = 256;
    run.params[PAGEMIX_POOL_ALIGN] = 64;
    run.params[PAGEMIX_POOL_PAGES] = 4;
    run.params[PAGEMIX_POOL_ORDER] = PAGEMIX_FREE_RANDOM;
    run.params[PAGEMIX_POOL_SEED] = 1;
  } else if (op != "nop") {
    run.fd = buffer;
  }
}

}  // namespace pagemix::test
