#pragma once

#include "../plain/along_axis.cuh"
#include "block.cuh"

#ifdef __CUDACC__
// Where row `row` begins.
__device__ inline int64_t row_begin(const AlongAxis& of, int64_t row) {
  return row / of.inner * of.inner * of.length + row % of.inner;
}

// The logarithm of the sum of the exponentials of a row's elements less the largest, and the largest.
struct Exponentials {
  double largest, sum;
};
template <class T>
__device__ Exponentials exponentials_of(const AlongAxis& of, const T* row) {
  double largest = -infinity();
  for (int64_t k = threadIdx.x; k < of.length; k += BLOCK) largest = fmax(largest, double(row[k * of.inner]));
  largest = joined(largest, [](double a, double b) { return fmax(a, b); });
  return {largest, sum_of(of.length, [&](int64_t k) { return exp(double(row[k * of.inner]) - largest); })};
}
#else
inline int64_t rows_of(const AlongAxis& of, const kw::Shape& x) { return of.length == 0 ? 0 : x.count() / of.length; }
#endif
