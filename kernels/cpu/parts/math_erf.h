#pragma once

#include <kernelwright.h>

#include "vector.h"

// The error function in vectors, to float32's precision. bench/vector_math_bench.cpp measures the errors.

namespace simd {

// A quotient of polynomials up to 3.93, where erf has become 1.
inline Floats erf(Floats x) {
  const Floats cut = x > 3.93f ? splat(3.93f) : x < -3.93f ? splat(-3.93f) : x;
  const Floats square = cut * cut;
  Floats above = fma(square, -1.28006254e-08f, 4.61801028e-06f);
  above = fma(above, square, 0.000377209304f);
  above = fma(above, square, 0.00384010747f);
  above = fma(above, square, 0.0542554297f);
  above = fma(above, square, 0.185146883f);
  above = fma(above, square, 1.12837923f);
  Floats below = fma(square, 6.25032917e-05f, 0.0013024247f);
  below = fma(below, square, 0.0154349012f);
  below = fma(below, square, 0.113886997f);
  below = fma(below, square, 0.49741596f);
  below = fma(below, square, 1.0f);
  return above * cut / below;
}

}  // namespace simd
