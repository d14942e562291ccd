#pragma once

#include <kernelwright.h>

#include "reduction.h"

// The mean of numbers and of their squared distances from it, in two passes: one would lose the variance where the mean
// is much larger than the deviation. The second pass finds the numbers in cache.
struct RowMoments {
  float mean, variance;
};

struct SumOfSquaredDistances : SumOfElements {
  static constexpr bool kShifted = true;
  template <class V>
  static V term(V x, V mean) {
    return (x - mean) * (x - mean);
  }
};

inline RowMoments moments_of_row(const float* x, int64_t count) {
  const float mean = fold_row<SumOfElements>(x, count) / float(count);
  const int64_t whole = count < simd::kLanes ? count : count / simd::kLanes * simd::kLanes;  // no lanes that are empty
  float squares = fold_row<SumOfSquaredDistances>(x, whole, mean);
  for (int64_t i = whole; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, squares / float(count)};
}

// y = (x - mean) * factor + shift, of one row.
inline void scale_row(const float* x, int64_t count, float mean, float factor, float shift, float* y) {
  using namespace simd;
  const auto one = [&](int64_t i) { store(y + i, fma(load(x + i) - mean, factor, shift)); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int u = 0; u < 4; ++u) one(i + u * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) one(i);
  if (i < count) store_some(y + i, fma(load_some(x + i, count - i) - mean, factor, shift), count - i);
}
