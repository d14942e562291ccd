#pragma once

#include "along_axis.cuh"

// LpNormalization: the elements along an axis divided by their L1 or L2 norm; zeros stay zeros.
struct LpNormalization_node {
  AlongAxis view;
  int64_t p;
};

#ifdef __CUDACC__
template <class T>
__device__ T LpNormalization(const LpNormalization_node& of, int64_t i, const T* x) {
  const T* row = x + of.view.first(i);
  double sum = 0;
  for (int64_t k = 0; k < of.view.length; ++k) {
    const double value = double(row[k * of.view.inner]);
    sum += of.p == 1 ? fabs(value) : value * value;
  }
  const double norm = of.p == 1 ? sum : sqrt(sum);
  return norm == 0 ? T(0) : T(double(x[i]) / norm);
}
#else
inline LpNormalization_node LpNormalization_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  *y = x.shape;
  return {along(x.shape, node.integer("axis", -1)), node.integer("p", 2)};
}
#endif
