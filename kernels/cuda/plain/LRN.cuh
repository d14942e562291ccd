#pragma once

#include "along_axis.cuh"

// LRN: every element divided by a power of the sum of squares in the channels around it.
struct LRN_node {
  AlongAxis channels;
  int64_t size;
  double alpha, beta, bias;
};

#ifdef __CUDACC__
template <class T>
__device__ T LRN(const LRN_node& of, int64_t i, const T* x) {
  const int64_t channel = i / of.channels.inner % of.channels.length;
  const T* row = x + of.channels.first(i);
  double squares = 0;
  for (int64_t k = channel - (of.size - 1) / 2; k <= channel + of.size / 2; ++k) {
    if (k < 0 || k >= of.channels.length) continue;
    const double value = double(row[k * of.channels.inner]);
    squares += value * value;
  }
  return T(double(x[i]) / pow(of.bias + of.alpha / double(of.size) * squares, of.beta));
}
#else
inline LRN_node LRN_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return {along(x.shape, 1), node.integer("size"), node.real("alpha", 1e-4), node.real("beta", 0.75),
          node.real("bias", 1)};
}
#endif
