// One block a row, which is read once into shared memory: its largest element, the sum of the exponentials, and the
// results.
//
// serves: Softmax, LogSoftmax
// types: float32
// order: 10
// fuses: before, after
#pragma once

#include "parts/rows.cuh"

KW_TUNE(SOFTMAX_BLOCK, 256, 64, 128, 256, 512, 1024);
KW_TUNE(SOFTMAX_SHARED_KIB, 96, 16, 48, 96, 200);

constexpr int threads = SOFTMAX_BLOCK;

using Softmax_node = Rows;
using LogSoftmax_node = Rows;

#ifdef __CUDACC__
template <bool logarithm, class X, class Y>
__device__ void softmax(const Rows& of, const X& x, const Y& y) {
  float* const parts = shared_floats();
  float* const kept = of.whole != 0 ? parts + kRowPrefix : nullptr;
  for (int64_t row = blockIdx.x; row < of.count; row += gridDim.x) {
    float largest = minus_infinity();
    each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { largest = JoinMax()(largest, value); });
    largest = joined<threads>(largest, parts, JoinMax());
    float sum = 0;
    each_again<threads>(of, row, x, kept, [&](int64_t k, float value) {
      const float e = expf(value - largest);
      if (!logarithm && kept != nullptr) kept[k] = e;
      sum += e;
    });
    sum = joined<threads>(sum, parts, JoinSum());
    const int64_t first = of.first(row);
    const float last = logarithm ? logf(sum) : 1 / sum;
    each_again<threads>(of, row, x, kept, [&](int64_t k, float value) {
      const float result = logarithm         ? value - largest - last
                           : kept != nullptr ? value * last
                                             : expf(value - largest) * last;
      y(first + k * of.inner, result);
    });
    __syncthreads();
  }
}
template <int, class X, class Y>
__device__ void Softmax(const Softmax_node& of, const X& x, const Y& y, unsigned char*) {
  softmax<false>(of, x, y);
}
template <int, class X, class Y>
__device__ void LogSoftmax(const LogSoftmax_node& of, const X& x, const Y& y, unsigned char*) {
  softmax<true>(of, x, y);
}
#else
inline Rows Softmax_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return rows_of(steps, 0, x.shape.count(), softmax_axis(node, x.shape), SOFTMAX_SHARED_KIB * 1024);
}
inline Rows LogSoftmax_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x) {
  return Softmax_plan(node, steps, y, x);
}
#endif
