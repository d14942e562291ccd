// How far a right answer in floating point may be from the exact one: the bounds that references put into slack.
//
// A bound is derived from what every honest way of computing the result must do: the number of roundings, and the size
// of the terms rounded. It must let through any order of summation, fused or not, and a vectorised function of decent
// quality, and nothing computed in half precision. u is the unit roundoff of the result's type (2^-24 for float32).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace kw::ops {

// Of a function of exact inputs: |error| <= ulps * 2u * |result| + absolute * u + (flushes ? smallest normal : smallest
// subnormal number).
struct Accuracy {
  double ulps = 0;
  double absolute = 0;   // in units of u: for formulas that pass through a number of about this size (1 + exp(x))
  bool flushes = false;  // results below the normal range may be zero

  bool exact() const { return ulps == 0 && absolute == 0; }

  // None of an infinity: a formula that reaches one must say so.
  double bound(double result, DType dtype) const {
    if (exact() || !std::isfinite(result)) return 0;
    const double u = unit_roundoff(dtype);
    return ulps * 2 * u * std::fabs(result) + absolute * u +
           (flushes ? smallest_normal(dtype) : smallest_subnormal(dtype));
  }
};

inline constexpr Accuracy kExact{};
inline constexpr Accuracy kRounded{.ulps = 1};                                            // +, -, *, /, sqrt
inline constexpr Accuracy kFunction{.ulps = 8, .flushes = true};                          // exp, log, sin, ...
inline constexpr Accuracy kFunctionAroundOne{.ulps = 8, .absolute = 8, .flushes = true};  // formulas with 1 + f(x)

// What sums and statistics are computed in: float16 and bfloat16 are summed in float32, as ONNX asks of normalisations.
inline DType working_type(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

// Of a sum of `terms` terms whose magnitudes add up to `magnitude`, in any order. The worst case grows with the number
// of terms, but roundings are as good as random and grow with its root (Higham and Mary, 2019); sequential sums of
// drawn numbers stay well within eight times that.
inline double sum_bound(std::int64_t terms, double magnitude, DType dtype) {
  if (!std::isfinite(magnitude)) return 0;
  const double n = static_cast<double>(terms);
  return unit_roundoff(dtype) * std::min(n + 2, 8 * std::sqrt(n) + 2) * magnitude + smallest_subnormal(dtype);
}

// The same for terms in no particular order, as drawn inputs are, from the sum itself and the sum of the terms'
// squares. Partial sums walk to the result in steps of the terms' size, and every addition rounds one of them: the
// deviation is at most half of u * (root(n) * |sum| + root(n * squares)). Ten of those; half precision inside shows up
// to n = 10^5.
//
// Terms so large that a sum of some of them may leave the range, of either sign: nothing is certain then, although the
// whole may be a number.
inline double drawn_sum_bound(std::int64_t terms, double sum, double squares, DType dtype) {
  if (!std::isfinite(sum)) return 0;
  const double n = static_cast<double>(terms);
  const double walk = std::sqrt(n * squares);  // no sum of some terms is larger
  if (terms > 1 && walk > largest_finite(working_type(dtype))) return std::numeric_limits<double>::infinity();
  return unit_roundoff(dtype) * std::min((n + 2) * walk, 5 * (std::sqrt(n) * std::fabs(sum) + walk)) +
         smallest_subnormal(dtype);
}

}  // namespace kw::ops
