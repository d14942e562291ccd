#pragma once

#include <kernelwright.h>

// One element for each channel: `pool(first, count)` of the elements of its spatial axes.
template <class T, class Pool>
void pool_channels(kw::Tensor<const T> x, kw::Tensor<T>& y, const Pool& pool) {
  kw::Shape shape{x.shape(0), x.shape(1)};
  while (shape.rank < x.rank()) shape.push(1);
  y.allocate(shape);
  const int64_t size = x.shape().count(2, x.rank());
  for (int64_t c = 0; c < y.count(); ++c) y[c] = T(pool(x.data() + c * size, size));
}
