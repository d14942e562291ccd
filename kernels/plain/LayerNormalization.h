#pragma once

#include <kernelwright.h>

#include "parts/broadcast_index.h"
#include "parts/broadcast_steps.h"
#include "parts/moments.h"
#include "parts/normal_axis.h"
#include "parts/wide.h"

// LayerNormalization: the elements of all axes from one on moved and scaled to mean 0 and variance 1, then scaled and
// shifted.
template <class T, class S>
void LayerNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> scale,
                        kw::Tensor<const T> bias, kw::Tensor<T>& y, kw::Tensor<S>& means, kw::Tensor<S>& inverses) {
  using W = Wide<T>;
  const W epsilon = W(node.real("epsilon"));
  kw::Shape groups = x.shape();
  for (int axis = normal_axis(node.integer("axis"), x.rank()); axis < x.rank(); ++axis) groups[axis] = 1;
  y.allocate(x.shape());
  means.allocate(groups);
  inverses.allocate(groups);
  const kw::Shape scale_steps = broadcast_steps(scale.shape(), x.shape());
  const kw::Shape bias_steps = broadcast_steps(bias.shape(), x.shape());
  const int64_t scale_step = scale_steps[-1], bias_step = bias_steps[-1];
  const T zero(0);  // the bias that is left out
  const int64_t row = x.shape(-1);
  const int64_t size = x.count() / std::max<int64_t>(means.count(), 1);  // of a group
  for (int64_t g = 0; g < means.count(); ++g) {
    const auto [mean, variance] = moments_of<W>(x.data() + g * size, size);
    const W inverse = 1 / std::sqrt(variance + epsilon);
    means[g] = S(mean);
    inverses[g] = S(inverse);
    for (int64_t begin = g * size; begin < (g + 1) * size; begin += row) {
      const T* factor = scale.data() + broadcast_index(begin, x.shape(), scale_steps);
      const T* shift = bias.given() ? bias.data() + broadcast_index(begin, x.shape(), bias_steps) : &zero;
      for (int64_t i = 0; i < row; ++i) {
        const W normal = (W(x[begin + i]) - mean) * inverse;
        y[begin + i] = T(normal * W(factor[i * scale_step]) + W(shift[i * bias_step]));
      }
    }
  }
}
