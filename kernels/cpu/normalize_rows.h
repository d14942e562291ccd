// Rows of the last axes moved and scaled to mean 0 and variance 1, or to a mean square of 1, then scaled and shifted by
// weights that lie beside them.
//
// serves: LayerNormalization, RMSNormalization
// types: float32
#pragma once

#include <kernelwright.h>

#include "../plain/parts/broadcast_index.h"
#include "../plain/parts/broadcast_steps.h"
#include "../plain/parts/normal_axis.h"
#include "parts/moments.h"

// A weight that is broadcast to the rows; where it covers them as they lie, it is used in place.
struct RowWeights {
  const float* data = nullptr;  // none
  bool same = false;            // for all rows
  kw::Shape shape, steps;
  int64_t size;
  float* spread = nullptr;  // a row for each thread

  RowWeights(const kw::Node& node, int threads, kw::Tensor<const float> weights, const kw::Shape& x, int axis)
      : data(weights.data()), size(x.count(axis, x.rank)) {
    if (data == nullptr) return;
    same = weights.count() == size && weights.rank() <= x.rank;
    for (int i = 0; same && i < weights.rank(); ++i) {
      const int of_x = x.rank - weights.rank() + i;
      same = weights.shape(i) == (of_x < axis ? 1 : x.dims[of_x]);
    }
    if (same) return;
    shape = x;
    steps = broadcast_steps(weights.shape(), x);
    spread = node.scratch<float>(threads * size);
  }
  const float* of_row(int64_t row, int slot) const {
    if (data == nullptr || same) return data;
    float* const own = spread + slot * size;
    for (int64_t i = 0; i < size; ++i) own[i] = data[broadcast_index(row * size + i, shape, steps)];
    return own;
  }
};

// y = (x - mean) * inverse * factor + shift, element by element; without a shift where it is null.
inline void weigh_row(const float* x, int64_t count, float mean, float inverse, const float* factor, const float* shift,
                      float* y) {
  using namespace simd;
  int64_t i = 0;
  if (shift != nullptr) {
    for (; i + kLanes <= count; i += kLanes) {
      store(y + i, fma((load(x + i) - mean) * inverse, load(factor + i), load(shift + i)));
    }
  } else {
    for (; i + kLanes <= count; i += kLanes) store(y + i, (load(x + i) - mean) * inverse * load(factor + i));
  }
  if (i == count) return;
  const int64_t rest = count - i;
  const Floats shifts = shift != nullptr ? load_some(shift + i, rest) : splat(0.0f);
  store_some(y + i, fma((load_some(x + i, rest) - mean) * inverse, load_some(factor + i, rest), shifts), rest);
}

inline void LayerNormalization(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> scale,
                               kw::Tensor<const float> bias, kw::Tensor<float>& y, kw::Tensor<float>& means,
                               kw::Tensor<float>& inverses) {
  const float epsilon = float(node.real("epsilon"));
  const int axis = normal_axis(node.integer("axis"), x.rank());
  kw::Shape rows = x.shape();
  for (int i = axis; i < x.rank(); ++i) rows[i] = 1;
  y.allocate(x.shape());
  means.allocate(rows);
  inverses.allocate(rows);
  const int64_t size = x.shape().count(axis, x.rank());
  const int threads = threads_within(node, threads_for(node, x.count()), 2 * size * 4);
  const RowWeights factors(node, threads, scale, x.shape(), axis), shifts(node, threads, bias, x.shape(), axis);
  share_ranges(node, threads, means.count(), 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x.data() + row * size;
      const auto [mean, variance] = moments_of_row(from, size);
      means[row] = mean;
      inverses[row] = 1 / std::sqrt(variance + epsilon);
      weigh_row(from, size, mean, inverses[row], factors.of_row(row, slot), shifts.of_row(row, slot),
                y.data() + row * size);
    }
  });
}

inline void RMSNormalization(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> scale,
                             kw::Tensor<float>& y) {
  const float epsilon = float(node.real("epsilon"));
  const int axis = normal_axis(node.integer("axis"), x.rank());
  y.allocate(x.shape());
  const int64_t size = x.shape().count(axis, x.rank());
  if (x.count() == 0) return;
  const int threads = threads_within(node, threads_for(node, x.count()), 2 * size * 4);
  const RowWeights factors(node, threads, scale, x.shape(), axis);
  share_ranges(node, threads, x.count() / size, 1, [&](int64_t begin, int64_t end, int slot) KW_IN_PLACE {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x.data() + row * size;
      const float squares = fold_row<SumOfSquares>(from, size);
      const float inverse = 1 / std::sqrt(squares / float(size) + epsilon);
      weigh_row(from, size, 0, inverse, factors.of_row(row, slot), nullptr, y.data() + row * size);
    }
  });
}
