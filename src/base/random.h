// Random numbers that are the same on every machine and compiler for a seed (the standard library's distributions
// are not), and fast enough to fill the largest task's inputs.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace kw {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {
    bits();
    bits();
  }

  // splitmix64
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  // In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  double uniform(double low, double high) { return low + (high - low) * unit(); }

  // Both ends included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    assert(low <= high);
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    if (span == 0) return static_cast<std::int64_t>(bits());
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bits() % span);
  }

  bool chance(double probability) { return unit() < probability; }

  double normal();
  // As normal(), times a deviation, plus a mean; two numbers from each draw, so that they are other ones than
  // normal()'s.
  void fill_normal(std::span<float> values, double mean, double deviation);

  double sign() { return bits() & 1 ? 1.0 : -1.0; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }

  template <class Range>
  const auto& pick(const Range& choices) {
    assert(std::size(choices) > 0);
    return choices[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(std::size(choices)) - 1))];
  }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
  }

 private:
  // A draw that lies at the rim of its layer: itself, or another one.
  double rim(std::size_t layer, double x);
  // Of the tail to the right of `start`.
  double normal_beyond(double start);

  std::uint64_t state_;
};

}  // namespace kw
