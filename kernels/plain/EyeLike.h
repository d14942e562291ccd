#pragma once

#include <kernelwright.h>

// EyeLike: a matrix of the input's shape with ones on its k-th diagonal, zero elsewhere.
template <class X, class Y>
void EyeLike(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<Y>& y) {
  y.allocate(x.shape());
  std::fill(y.begin(), y.end(), Y(0));
  const int64_t rows = y.shape(0);
  const int64_t columns = y.shape(1);
  const int64_t k = std::clamp(node.integer("k"), -rows, columns);
  const int64_t last = std::min(rows, columns - k);
  for (int64_t row = std::max<int64_t>(0, -k); row < last; ++row) y[row * columns + row + k] = Y(1);
}
