// Every channel reduced to one number: rows with several accumulators.
//
// serves: GlobalAveragePool, GlobalMaxPool
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/reduction.h"

template <class F>
inline void reduce_channels(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y, bool averages) {
  kw::Shape shape{x.shape(0), x.shape(1)};
  while (shape.rank < x.rank()) shape.push(1);
  y.allocate(shape);
  const int64_t size = x.shape().count(2, x.rank());
  share_ranges(node, threads_for(node, x.count()), y.count(), 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    for (int64_t c = begin; c < end; ++c) {
      const float folded = fold_row<F>(x.data() + c * size, size);
      y[c] = averages ? folded / float(size) : folded;
    }
  });
}

inline void GlobalAveragePool(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  reduce_channels<SumOfElements>(node, x, y, true);
}

inline void GlobalMaxPool(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  reduce_channels<LargestElement>(node, x, y, false);
}
