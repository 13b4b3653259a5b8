// SPDX-License-Identifier: Apache-2.0
// Seeded values: valid ones, those at a boundary, and wild ones.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pagemix::fuzz {

/// SplitMix64 by Sebastiano Vigna (public domain): one seed, one sequence.
class Values {
 public:
  explicit Values(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// 0..n-1
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
  /// True once in n times.
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  template <typename T, std::size_t N>
  const T& pick(const T (&list)[N]) {
    return list[below(N)];
  }
  template <typename Container>
  auto& pick(Container& list) {
    return list[below(list.size())];
  }

  /// At the edges of types, pages and limits, or of any magnitude.
  std::uint64_t wild() {
    static constexpr std::uint64_t kEdges[] = {
        0,          1,           2,          3,          4095,
        4096,       4097,        65536,      1ULL << 20, (1ULL << 20) + 1,
        1ULL << 31, ~0U,         1ULL << 32, 1ULL << 62, 1ULL << 63,
        ~0ULL,      ~0ULL - 4095};
    return one_in(2) ? pick(kEdges) : bits() >> below(64);
  }
  std::uint32_t wild32() { return static_cast<std::uint32_t>(wild()); }

  /// `valid`, but a wild value once in n times.
  std::uint64_t mostly(std::uint64_t valid, std::uint64_t n) { return one_in(n) ? wild() : valid; }
  std::uint32_t mostly32(std::uint32_t valid, std::uint64_t n) {
    return one_in(n) ? wild32() : valid;
  }

  /// Overwrites up to three places of a structure.
  void scribble(std::span<std::byte> bytes) {
    for (std::uint64_t n = 1 + below(3); n; n--)
      bytes[below(bytes.size())] = static_cast<std::byte>(bits());
  }

 private:
  std::uint64_t state_;
};

}  // namespace pagemix::fuzz
