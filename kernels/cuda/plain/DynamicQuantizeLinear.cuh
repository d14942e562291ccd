#pragma once

#include "rounded.cuh"

// DynamicQuantizeLinear: numbers as unsigned bytes, with the scale and the zero point that just hold them all and zero.
struct DynamicQuantizeLinear_node {
  int64_t count;
};

#ifdef __CUDACC__
struct ByteRange {
  float scale, zero;
};
__device__ inline ByteRange byte_range(const float* x, int64_t count) {
  float low = 0, high = 0;
  for (int64_t k = 0; k < count; ++k) {
    low = fminf(low, x[k]);
    high = fmaxf(high, x[k]);
  }
  const float scale = (high - low) / 255;
  return {scale, fminf(fmaxf(rintf(-low / scale), 0.0f), 255.0f)};
}

__device__ inline uint8_t DynamicQuantizeLinear(const DynamicQuantizeLinear_node& of, int64_t i, const float* x) {
  const ByteRange range = byte_range(x, of.count);
  return rounded<uint8_t>(x[i] / range.scale, range.zero);
}
template <int output>
__device__ float DynamicQuantizeLinear_more(const DynamicQuantizeLinear_node& of, int64_t, const float* x) {
  const ByteRange range = byte_range(x, of.count);
  return output == 1 ? range.scale : range.zero;
}
#else
inline DynamicQuantizeLinear_node DynamicQuantizeLinear_plan(const kw::Node&, kw::Shape* y, const Given& x) {
  y[0] = x.shape;
  y[1] = y[2] = kw::Shape();
  return {x.shape.count()};
}
#endif
