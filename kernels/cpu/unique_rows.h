// Unique: single numbers sorted together with where they stand, slices by their first difference, found in vectors; the
// distinct ones are moved in whole runs, past the caches where they exceed them.
//
// serves: Unique
// types: float32
#include <bit>
#include <numeric>
#include <vector>

#include "parts/map.h"
#include "../plain/parts/axis.h"
#include "../plain/parts/distinct.h"

// Negative, zero or positive: the row at p is before, equal to or behind that at q. NaN is no difference.
inline int compare_runs(const float* p, const float* q, int64_t count) {
  int64_t i = 0;
  for (; i + simd::kLanes <= count; i += simd::kLanes) {
    const simd::Floats a = simd::load(p + i), b = simd::load(q + i);
    if (simd::any(simd::Ints(a < b) | simd::Ints(b < a))) break;
  }
  for (; i < count; ++i) {
    if (p[i] < q[i]) return -1;
    if (q[i] < p[i]) return 1;
  }
  return 0;
}

// The places of `count` numbers, none of them NaN, in the order of the numbers; equal ones as they appear.
inline void sort_numbers(const float* x, int64_t count, int64_t* order) {
  std::vector<uint64_t> keys(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i] == 0 ? 0.0f : x[i]);
    const uint32_t key = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;  // as unsigned, in the order of the floats
    keys[static_cast<std::size_t>(i)] = uint64_t{key} << 32 | static_cast<uint64_t>(i);
  }
  std::sort(keys.begin(), keys.end());
  for (int64_t i = 0; i < count; ++i) order[i] = static_cast<int64_t>(keys[static_cast<std::size_t>(i)] & 0xffffffffu);
}

inline void Unique(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y, kw::Tensor<int64_t>& indices,
                   kw::Tensor<int64_t>& inverse, kw::Tensor<int64_t>& counts) {
  const bool flat = !node.has("axis");
  const AlongAxis view = flat ? AlongAxis{1, x.count(), 1} : along(x.shape(), node.integer("axis"));
  // Rows that were found to be equal have the same number here: to find it again is to read both of them whole.
  std::vector<int64_t> same(static_cast<std::size_t>(view.length));
  std::iota(same.begin(), same.end(), 0);
  const auto compare = [&](int64_t a, int64_t b) {
    int64_t &one = same[static_cast<std::size_t>(a)], &other = same[static_cast<std::size_t>(b)];
    if (one == other) return 0;
    for (int64_t o = 0; o < view.outer; ++o) {
      const float* slice = x.data() + o * view.length * view.inner;
      const int sign = compare_runs(slice + a * view.inner, slice + b * view.inner, view.inner);
      if (sign != 0) return sign;
    }
    one = other = std::min(one, other);
    return 0;
  };
  // Rows in order, equal ones as they appear. Not in scratch memory, which is too small for it where elements are.
  std::vector<int64_t> order(static_cast<std::size_t>(view.length));
  const auto is_nan = [](float value) { return value != value; };
  if (view.outer * view.inner == 1 && view.length < int64_t{1} << 32 && std::none_of(x.begin(), x.end(), is_nan)) {
    sort_numbers(x.data(), view.length, order.data());
  } else {
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int sign = compare(a, b);
      return sign != 0 ? sign < 0 : a < b;
    });
  }
  const Distinct found = distinct_of(std::move(order), node.integer("sorted", 1) != 0, compare);
  const int64_t moved = x.count() + static_cast<int64_t>(found.rows.size()) * view.outer * view.inner;
  const bool past_caches = moved >= int64_t{MAP_STREAM_MIB} << 18 && view.inner >= 1024;
  const auto copy = [past_caches](const float* from, int64_t count, float* to) {
    if (past_caches) {
      simd::fill_past_caches(to, count, [from](int64_t i) { return simd::load(from + i); });
    } else {
      std::copy_n(from, count, to);
    }
  };
  put_distinct(node, x, view, found, copy, y, indices, inverse, counts);
}
