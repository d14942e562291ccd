// Real numbers rounded to small integers: the last step of every operator that quantises.
//
// y = round(quotient) + zero point, halves to even, cut to the type's range. A quotient that is computed in floating
// point lies a little off the exact one; where a half lies between the two, either neighbour is a right answer, and the
// integer has slack.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"
#include "ops/op.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

struct Quantized {
  std::int64_t value = 0;
  double slack = 0;
};

// `error` is how far a right quotient may be off, `zero_slack` the same of the zero point. NaN has no integer: whatever
// a kernel makes of it is right.
inline Quantized quantized(double quotient, double error, std::int64_t zero, double zero_slack, DType dtype) {
  const auto low = static_cast<double>(lowest_integer(dtype));
  const auto high = static_cast<double>(highest_integer(dtype));
  if (std::isnan(quotient)) return {zero, std::numeric_limits<double>::infinity()};
  const auto placed = [&](double whole) { return std::clamp(whole + static_cast<double>(zero), low, high); };
  const double value = placed(std::nearbyint(quotient));
  if (error == 0 && zero_slack == 0) return {static_cast<std::int64_t>(value), 0};
  const double least = placed(std::ceil(quotient - error - 0.5) - zero_slack);
  const double most = placed(std::floor(quotient + error + 0.5) + zero_slack);
  return {static_cast<std::int64_t>(value), std::max({value - least, most - value, 0.0})};
}

// How far a quotient is off after `roundings` roundings on its way, and one of its sum with the zero point.
inline double quotient_error(double quotient, std::int64_t zero, int roundings, DType dtype) {
  return unit_roundoff(dtype) * (roundings * std::fabs(quotient) + std::fabs(static_cast<double>(zero)));
}

// Dividing by a power of two rounds nothing, in whatever way it is done: halves stay halves.
inline bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

// Makes element `index` of a tensor the quantised number.
inline void put(const Quantized& number, WideTensor& y, std::size_t index) {
  y.integers[index] = number.value;
  if (number.slack == 0) return;
  y.add_slack();
  y.slack[index] = number.slack;
}

// Scales are drawn as networks have them: never zero, and fine enough that numbers around 1 fill eight bits.
inline Domain scale_domain() { return {.low = 0.005, .high = 0.1}; }

}  // namespace kw::ops
