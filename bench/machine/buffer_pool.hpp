// SPDX-License-Identifier: Apache-2.0
// The buffers that families share.
#pragma once

#include <pagemix.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "machine/heap_client.hpp"
#include "plan/cases.hpp"
#include "plan/mixes.hpp"

namespace pagemix::bench {

/// A buffer with what the heap says about it.
struct PooledBuffer {
  Buffer buffer;
  pagemix_buf_info info{};
  std::vector<pagemix_run> runs;  ///< in buffer order
};

/// One buffer for each (mix, layout, bytes) that cases use; eight for those of a
/// queue of eight frames.
///
/// All are made at once, in an order that does not depend on the seed of the
/// interleaving, when half of the available memory holds them; then each keeps
/// its physical pages for the whole run. Otherwise one at a time is made when a
/// case asks for it. Larger orders are made first, so that small ones do not
/// take the last large free blocks.
class BufferPool {
 public:
  /// @p heap outlives the pool. Allocates if all buffers fit in half of
  /// @p available_bytes.
  BufferPool(const HeapClient& heap, const std::vector<Case>& cases,
             const std::map<std::string, Mix>& mixes, std::uint64_t seed,
             std::uint64_t available_bytes);

  /// A buffer of a case, @p index 0..item.buffers()-1. RunError when it could
  /// not be allocated. Without keeps_all() the reference ends with the next call
  /// for another mix, layout or size.
  const PooledBuffer& get(const Case& item, std::uint32_t index = 0);

  bool keeps_all() const { return keeps_all_; }

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t, std::uint32_t>;
  static Key key_of(const Case& item, std::uint32_t index) {
    return {item.mix(), item.layout(), item.bytes(), index};
  }
  std::vector<Key> needed(const std::vector<Case>& cases) const;
  std::unique_ptr<PooledBuffer> make(const Key& key) const;

  const HeapClient& heap_;
  const std::map<std::string, Mix>& mixes_;
  std::uint64_t seed_;
  bool keeps_all_ = false;
  std::map<Key, std::unique_ptr<PooledBuffer>> buffers_;
  std::map<Key, std::string> failures_;
};

}  // namespace pagemix::bench
