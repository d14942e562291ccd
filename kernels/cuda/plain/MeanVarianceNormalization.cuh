#pragma once

#include "reduction.cuh"

// MeanVarianceNormalization: the elements along the axes moved to mean 0 and divided by their deviation (plus 1e-9).
struct MeanVarianceNormalization_node {
  Reduction group;
  Strided to_group;  // which group an element belongs to
};

#ifdef __CUDACC__
template <class T>
__device__ T MeanVarianceNormalization(const MeanVarianceNormalization_node& of, int64_t i, const T* x) {
  const int64_t group = of.to_group.at(i);
  double sum = 0, squares = 0;
  each_reduced(of.group, group, x, [&](double value) { sum += value; });
  const double mean = sum / double(of.group.count);
  each_reduced(of.group, group, x, [&](double value) { squares += (value - mean) * (value - mean); });
  return T((double(x[i]) - mean) / (sqrt(squares / double(of.group.count)) + 1e-9));
}
#else
inline MeanVarianceNormalization_node MeanVarianceNormalization_plan(const kw::Node& node, kw::Shape* y,
                                                                     const Given& x) {
  kw::Shape groups;
  const Reduction group = reduction_of(node, &groups, x, Given{});  // axes that go have length 1
  *y = x.shape;
  return {group, broadcast_to(groups, x.shape)};
}
#endif
