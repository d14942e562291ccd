#pragma once

#include <kernelwright.h>

#include "parts/broadcast_index.h"
#include "parts/broadcast_steps.h"
#include "parts/named_axes.h"
#include "parts/wide.h"

// MeanVarianceNormalization: the elements along the axes moved to mean 0 and divided by their deviation (plus 1e-9).
template <class T>
void MeanVarianceNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  if (x.count() == 0) return;
  kw::Shape groups = x.shape();
  const auto averaged = named_axes(node.integers("axes"), x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) groups[axis] = averaged[axis] ? 1 : groups[axis];
  // Calls f(element, its group) in the order of x, a row of the last axis after the other.
  const kw::Shape steps = broadcast_steps(groups, x.shape());
  const int64_t row = x.rank() == 0 ? 1 : x.shape(-1), step = x.rank() == 0 ? 0 : steps[-1];
  const auto each = [&](auto f) {
    for (int64_t begin = 0; begin < x.count(); begin += row) {
      const int64_t group = broadcast_index(begin, x.shape(), steps);
      for (int64_t i = 0; i < row; ++i) f(begin + i, group + i * step);
    }
  };
  const int64_t count = groups.count();
  const double terms = double(x.count() / count);
  double* sums = node.scratch<double>(count);  // float would drop the many small terms of a long sum
  W* means = node.scratch<W>(count);
  W* deviations = node.scratch<W>(count);
  std::fill_n(sums, count, 0.0);
  each([&](int64_t i, int64_t group) { sums[group] += W(x[i]); });
  for (int64_t g = 0; g < count; ++g) means[g] = W(sums[g] / terms);
  std::fill_n(sums, count, 0.0);
  each([&](int64_t i, int64_t group) { sums[group] += (W(x[i]) - means[group]) * (W(x[i]) - means[group]); });
  for (int64_t g = 0; g < count; ++g) deviations[g] = W(std::sqrt(sums[g] / terms) + 1e-9);
  each([&](int64_t i, int64_t group) { y[i] = T((W(x[i]) - means[group]) / deviations[group]); });
}
