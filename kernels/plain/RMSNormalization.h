#pragma once

#include <kernelwright.h>

#include "parts/broadcast_index.h"
#include "parts/broadcast_steps.h"
#include "parts/normal_axis.h"
#include "parts/wide.h"

// RMSNormalization: the elements of all axes from one on divided by the root of the mean of their squares, then scaled.
template <class T, class V>
void RMSNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const V> scale, kw::Tensor<V>& y) {
  using W = std::common_type_t<Wide<T>, Wide<V>>;
  const W epsilon = W(node.real("epsilon"));
  const int axis = normal_axis(node.integer("axis"), x.rank());
  y.allocate(x.shape());
  const kw::Shape scale_steps = broadcast_steps(scale.shape(), x.shape());
  const int64_t scale_step = scale_steps[-1];
  const int64_t row = x.shape(-1);
  const int64_t groups = x.shape().count(0, axis), size = x.shape().count(axis, x.rank());
  for (int64_t g = 0; g < groups; ++g) {
    W squares = 0;
    for (int64_t i = g * size; i < (g + 1) * size; ++i) squares += W(x[i]) * W(x[i]);
    const W inverse = 1 / std::sqrt(squares / W(size) + epsilon);
    for (int64_t begin = g * size; begin < (g + 1) * size; begin += row) {
      const V* factor = scale.data() + broadcast_index(begin, x.shape(), scale_steps);
      for (int64_t i = 0; i < row; ++i) y[begin + i] = V(W(x[begin + i]) * inverse * W(factor[i * scale_step]));
    }
  }
}
