#pragma once

#include "common.cuh"

// Gelu: each element times the share of a normal distribution below it, exactly or by a tanh.
struct Gelu_node {
  int64_t by_tanh;
};

#ifdef __CUDACC__
template <class T>
__device__ T Gelu(const Gelu_node& of, int64_t i, const T* x) {
  const double a = double(x[i]);
  if (of.by_tanh != 0) return T(a / 2 * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a))));
  return T(a / 2 * (1 + erf(0.70710678118654752440 * a)));
}
#else
inline Gelu_node Gelu_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return {node.is("approximate", "tanh") ? 1 : 0};
}
#endif
