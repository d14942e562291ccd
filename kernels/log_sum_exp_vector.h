// The logarithm of a sum of exponentials along axes: the largest element first, then the sum of what is left of each.
//
// serves: ReduceLogSumExp
// types: float32
#include "parts/math_exp.h"
#include "parts/math_log.h"
#include "parts/reduction.h"

struct SumOfExponentials : SumOfElements {
  static constexpr float kNeutral = -INFINITY;
  static constexpr bool kShifted = true;
  static simd::Floats term(simd::Floats x, simd::Floats shift) { return simd::exp(x - shift); }
  static float term(float x, float shift) { return term(simd::splat(x), simd::splat(shift))[0]; }
};

inline void ReduceLogSumExp(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const int64_t> axes,
                            kw::Tensor<float>& y) {
  using namespace simd;
  const ReductionRuns runs = reduction_runs(node, x.shape(), axes);
  y.allocate(runs.result);
  const int64_t count = y.count();
  if (runs.terms == 0) std::fill(y.begin(), y.end(), -INFINITY);
  if (runs.terms == 0 || count == 0) return;
  float* largest = node.scratch<float>(count);
  fold_runs<LargestElement>(x.data(), runs, 0, nullptr, true, largest);
  for (int64_t i = 0; i < count; ++i) largest[i] = std::isinf(largest[i]) ? 0 : largest[i];
  fold_runs<SumOfExponentials>(x.data(), runs, 0, largest, true, y.data());
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y.data() + i, log(load(y.data() + i)) + load(largest + i));
  const int64_t rest = count - i;
  if (rest == 0) return;
  store_some(y.data() + i, log(load_some(y.data() + i, rest, 1)) + load_some(largest + i, rest), rest);
}
