// float16 and bfloat16 as the bits that tensors hold: conversions that round to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace kw {

struct Half {
  std::uint16_t bits;
};

struct Brain {
  std::uint16_t bits;
};

inline double to_double(Half half) {
  const int exponent = (half.bits >> 10) & 31;
  const int mantissa = half.bits & 1023;
  const double sign = half.bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? std::copysign(NAN, sign) : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline Half half_from(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | 0x7E00)};
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return {static_cast<std::uint16_t>(sign | 0x7C00)};
  int exponent = -24;  // of zero: in units of the smallest subnormal
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  // Units of the last place that this magnitude has in float16; a carry into the next binade gives the right bits.
  const int unit_exponent = std::max(exponent - 11, -24);
  const auto units = static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, -unit_exponent)));
  if (unit_exponent == -24) return {static_cast<std::uint16_t>(sign | units)};
  return {static_cast<std::uint16_t>(sign | (((unit_exponent + 24) << 10) + units))};
}

inline double to_double(Brain brain) { return std::bit_cast<float>(static_cast<std::uint32_t>(brain.bits) << 16); }

inline Brain brain_from(double value) {
  // Through float32 with the inexactness kept in the last bit, so that rounding happens once.
  float nearest = static_cast<float>(value);
  if (std::isnan(value)) return {0x7FC0};
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isfinite(nearest) && nearest != value && (bits & 1) == 0) {
    bits = std::fabs(nearest) < std::fabs(value) ? bits | 1 : bits - 1;
  }
  const std::uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  if (std::isinf(nearest)) return {static_cast<std::uint16_t>(bits >> 16)};
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

}  // namespace kw
