// Pow in vectors: runs of the result, through a logarithm in double precision; squares are products.
//
// serves: Pow
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/broadcast_runs.h"
#include "parts/map.h"
#include "parts/math_pow.h"

using simd::Floats;

inline Floats same(const float* from) {  // the bits, also of -0
  Floats lanes{};
  for (int i = 0; i < simd::kLanes; ++i) lanes[i] = *from;
  return lanes;
}

template <bool kBaseStays, bool kExponentStays>
inline void powers(const float* x, const float* y, float* to, int64_t count) {
  const Floats same_x = same(x), same_y = same(y);
  simd::fill(
      to, count,
      [=](int64_t i) {
        return simd::pow(kBaseStays ? same_x : simd::load(x + i), kExponentStays ? same_y : simd::load(y + i));
      },
      [=](int64_t n) {
        return simd::pow(kBaseStays ? same_x : simd::load_some(x, n), kExponentStays ? same_y : simd::load_some(y, n));
      });
}

template <class E>  // the exponents of floats may be integers
void Pow(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const E> y, kw::Tensor<float>& z) {
  z.allocate(broadcast_shape(x.shape(), y.shape()));
  if (z.count() == 0) return;
  const Runs<2> runs = runs_of<2>(z.shape(), {&x.shape(), &y.shape()});
  each_run(node, runs, [&](int64_t i, const int64_t(&at)[2], int64_t count) {
    const float* base = x.data() + at[0];
    const E* exponent = y.data() + at[1];
    float* to = z.data() + i;
    if (runs.stays[1] && !runs.stays[0] && *exponent == 2) {
      for (int64_t k = 0; k < count; ++k) to[k] = base[k] * base[k];
    } else if constexpr (std::is_same_v<E, float>) {
      const auto run = runs.stays[0] ? powers<true, false> : runs.stays[1] ? powers<false, true> : powers<false, false>;
      run(base, exponent, to, count);
    } else {
      for (int64_t k = 0; k < count; ++k) {
        to[k] =
            static_cast<float>(std::pow(double(base[runs.stays[0] ? 0 : k]), double(exponent[runs.stays[1] ? 0 : k])));
      }
    }
  });
}
