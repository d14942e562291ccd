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
// The largest element so far, and the sum of the exponentials of what lies below it.
struct Mass {
  float largest, sum;
};
__device__ inline Mass joined_mass(Mass a, Mass b) {
  const float largest = JoinMax()(a.largest, b.largest);
  const auto scaled = [&](Mass one) {
    return one.largest == largest || one.sum == 0 ? one.sum : one.sum * expf(one.largest - largest);
  };
  return {largest, scaled(a) + scaled(b)};
}

template <bool logarithm, class X, class Y>
__device__ void softmax(const Rows& of, const X& x, const Y& y) {
  float* const parts = shared_floats();
  float* const kept = of.whole != 0 ? parts + kRowPrefix : nullptr;
  for (int64_t row = blockIdx.x; row < of.count; row += gridDim.x) {
    float largest = minus_infinity(), sum = 0;
    if (kept != nullptr) {
      each_of_row<threads>(of, row, x, kept, [&](int64_t, float value) { largest = JoinMax()(largest, value); });
      largest = joined<threads>(largest, parts, JoinMax());
      each_again<threads>(of, row, x, kept, [&](int64_t k, float value) {
        const float e = expf(value - largest);
        if (!logarithm) kept[k] = e;
        sum += e;
      });
    } else {
      // A row that does not fit is read twice and not three times: what was summed up shrinks as the largest grows.
      Mass mass{minus_infinity(), 0};
      each_few_of_row<threads>(of, row, x, [&](const float* values, auto count) {
        Mass more{values[0], 0};
#pragma unroll
        for (int j = 1; j < count.value; ++j) more.largest = JoinMax()(more.largest, values[j]);
        if (more.largest == minus_infinity()) return;
#pragma unroll
        for (int j = 0; j < count.value; ++j) more.sum += expf(values[j] - more.largest);
        mass = joined_mass(mass, more);
      });
      largest = joined<threads>(mass.largest, parts, JoinMax());
      sum = joined_mass({largest, 0}, mass).sum;
    }
    sum = joined<threads>(sum, parts, JoinSum());
    const float last = logarithm ? logf(sum) : 1 / sum;
    write_row<threads>(of, row, x, kept, y, [&](int64_t, float* values, auto count) {
#pragma unroll
      for (int j = 0; j < count.value; ++j) {
        values[j] =
            logarithm ? values[j] - largest - last : (kept != nullptr ? values[j] : expf(values[j] - largest)) * last;
      }
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
