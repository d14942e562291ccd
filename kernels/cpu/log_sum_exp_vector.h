// The logarithm of a sum of exponentials along axes: the largest element first, then the sum of what is left of each.
//
// serves: ReduceLogSumExp
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/math_exp.h"
#include "parts/math_log.h"
#include "parts/reduction.h"

struct SumOfExponentials : SumOfElements {
  static constexpr float kNeutral = -INFINITY;
  static constexpr bool kShifted = true;
  static simd::Floats term(simd::Floats x, simd::Floats shift) { return simd::exp_of_negative(x - shift); }
  static float term(float x, float shift) { return term(simd::splat(x), simd::splat(shift))[0]; }
};

// y = log(y) + shift(i, n): the n elements from i on.
template <class Shift>
inline void logarithms_of(float* y, int64_t count, Shift shift) {
  using namespace simd;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, log(load(y + i)) + shift(i, kLanes));
  const int64_t rest = count - i;
  if (rest > 0) store_some(y + i, log(load_some(y + i, rest, 1)) + shift(i, rest), rest);
}

// A few elements that lie near each other: one shift for all of them, and their exponentials in vectors, whatever the
// axes. False where it is not so.
constexpr float kNearElements = 8;
inline bool reduce_few(kw::Tensor<const float> x, const ReductionRuns& runs, kw::Tensor<float>& y) {
  using namespace simd;
  if (x.count() > kFewElements) return false;
  float low = x[0], high = x[0], sum = 0;
  for (float one : x) {
    low = one < low ? one : low;
    high = one > high ? one : high;
    sum += one;
  }
  if (!(high - low <= kNearElements) || sum != sum) return false;
  float exponentials[kFewElements];
  for (int64_t i = 0; i < x.count(); i += kLanes) {
    const int64_t count = std::min<int64_t>(kLanes, x.count() - i);
    store_some(exponentials + i, exp_of_negative(load_some(x.data() + i, count) - high), count);
  }
  if (are_few(runs, x.count())) {
    fold_few<SumOfElements>(exponentials, runs, y.data());
  } else {
    fold_runs<SumOfElements>(exponentials, runs, 0, nullptr, true, y.data());
  }
  logarithms_of(y.data(), y.count(), [=](int64_t, int64_t) { return splat(high); });
  return true;
}

inline constexpr auto prepare_ReduceLogSumExp = keep_reduction_runs;
inline void ReduceLogSumExp(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                            kw::Tensor<float>& y, const void* kept) {
  using namespace simd;
  ReductionRuns own;
  const ReductionRuns& runs = kept_reduction_runs(kept, node, x.shape(), axes, own);
  y.allocate(runs.result);
  const int64_t count = y.count();
  if (runs.terms == 0) std::fill(y.begin(), y.end(), -INFINITY);
  if (runs.terms == 0 || count == 0 || reduce_few(x, runs, y)) return;
  float* largest = node.scratch<float>(count);
  float* shift = node.scratch<float>(count);
  fold_all<LargestElement>(node, x.data(), x.count(), runs, nullptr, largest);
  for (int64_t i = 0; i < count; ++i) shift[i] = std::isinf(largest[i]) ? 0 : largest[i];
  fold_all<SumOfExponentials>(node, x.data(), x.count(), runs, shift, y.data());
  logarithms_of(y.data(), count, [=](int64_t i, int64_t n) { return load_some(shift + i, n); });
  // What is infinite has no exponentials that could be summed.
  for (int64_t i = 0; i < count; ++i) y[i] = largest[i] == INFINITY ? INFINITY : y[i];
}
