// SPDX-License-Identifier: Apache-2.0
#include "machine/buffer_pool.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pagemix::bench {

BufferPool::BufferPool(const HeapClient& heap, const std::vector<Case>& cases,
                       const std::map<std::string, Mix>& mixes, std::uint64_t seed,
                       std::uint64_t available_bytes)
    : heap_(heap), mixes_(mixes), seed_(seed) {
  const std::vector<Key> keys = needed(cases);
  std::uint64_t total = 0;
  for (const Key& key : keys) total += std::get<2>(key);
  keeps_all_ = total <= available_bytes / 2;
  if (!keeps_all_) return;
  for (const Key& key : keys) {
    try {
      buffers_[key] = make(key);
    } catch (const RunError& error) {
      // Only the cases of this buffer fail; get() says why.
      failures_[key] = error.what();
    }
  }
}

std::vector<BufferPool::Key> BufferPool::needed(const std::vector<Case>& cases) const {
  std::vector<Key> keys;
  for (const Case& item : cases) {
    if (item.group() == Group::kNone || item.mix().empty()) continue;
    for (std::uint32_t i = 0; i < item.buffers(); ++i)
      if (const Key key = key_of(item, i); std::ranges::find(keys, key) == keys.end())
        keys.push_back(key);
  }
  std::ranges::stable_sort(keys, [&](const Key& a, const Key& b) {
    const auto& left = mixes_.at(std::get<0>(a)).steps;
    const auto& right = mixes_.at(std::get<0>(b)).steps;
    return std::tuple(left.back().order, left.front().order) >
           std::tuple(right.back().order, right.front().order);
  });
  return keys;
}

std::unique_ptr<PooledBuffer> BufferPool::make(const Key& key) const {
  const auto& [mix, layout, bytes, index] = key;
  const BufferSpec spec{.bytes = bytes,
                        .steps = mixes_.at(mix).steps,
                        .layout = layout_value(layout),
                        .seed = seed_ + index};
  auto pooled = std::make_unique<PooledBuffer>(
      PooledBuffer{heap_.allocate(spec, "mix " + mix + ", layout " + layout), {}, {}});
  pooled->info = pooled->buffer.info(heap_.fd());
  pooled->runs = pooled->buffer.runs(heap_.fd());
  return pooled;
}

const PooledBuffer& BufferPool::get(const Case& item, std::uint32_t index) {
  const Key key = key_of(item, index);
  if (const auto found = buffers_.find(key); found != buffers_.end()) return *found->second;
  if (const auto failed = failures_.find(key); failed != failures_.end())
    throw RunError(failed->second);
  // One case at a time: give the pages of others back first.
  std::erase_if(buffers_, [&](const auto& kept) {
    return std::tuple(std::get<0>(kept.first), std::get<1>(kept.first), std::get<2>(kept.first)) !=
           std::tuple(item.mix(), item.layout(), item.bytes());
  });
  return *(buffers_[key] = make(key));
}

}  // namespace pagemix::bench
