// Every channel reduced to one number: rows with several accumulators.
//
// serves: GlobalAveragePool, GlobalMaxPool
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/reduction.h"

template <class F>
inline void reduce_channels(kw::Tensor<const float> x, kw::Tensor<float>& y, bool averages) {
  kw::Shape shape{x.shape(0), x.shape(1)};
  while (shape.rank < x.rank()) shape.push(1);
  y.allocate(shape);
  const int64_t size = x.shape().count(2, x.rank());
  for (int64_t c = 0; c < y.count(); ++c) {
    const float folded = fold_row<F>(x.data() + c * size, size);
    y[c] = averages ? folded / float(size) : folded;
  }
}

inline void GlobalAveragePool(const kw::Node&, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  reduce_channels<SumOfElements>(x, y, true);
}

inline void GlobalMaxPool(const kw::Node&, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  reduce_channels<LargestElement>(x, y, false);
}
