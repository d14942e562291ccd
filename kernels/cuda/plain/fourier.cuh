#pragma once

#include "common.cuh"

#ifdef __CUDACC__
struct Complex {
  double real, imaginary;
};
// Adds element n of a signal of `length` to bin k of its transform.
__device__ inline void add_turned(Complex value, int64_t n, int64_t k, int64_t length, bool inverse, Complex* bin) {
  const double turns = 2 * (double(n * k % length) / double(length)) * (inverse ? 1 : -1);
  const double c = cospi(turns), s = sinpi(turns);
  bin->real += value.real * c - value.imaginary * s;
  bin->imaginary += value.real * s + value.imaginary * c;
}
#endif
