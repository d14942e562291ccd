#pragma once

#include <kernelwright.h>

#include <vector>

#include "broadcast.h"

// y = finish(join(... join(x0, x1) ..., xn)) of tensors that broadcast with one another, row by row of the last axis.
// What is joined is of type W.
template <class W, class T, class Join, class Finish>
void broadcast_all(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y, Join join,
                   Finish finish) {
  kw::Shape shape;
  for (const auto& x : xs) shape = broadcast(shape, x.shape());
  y.allocate(shape);
  if (y.count() == 0) return;
  if (shape.rank == 0) shape.push(1);
  std::vector<kw::Shape> steps;
  for (const auto& x : xs) steps.push_back(broadcast_steps(x.shape(), shape));
  const int64_t length = shape[-1];
  W* row = node.scratch<W>(length);
  for (int64_t begin = 0; begin < y.count(); begin += length) {
    for (std::size_t k = 0; k < xs.size(); ++k) {
      const T* from = xs[k].data() + broadcast_index(begin, shape, steps[k]);
      const int64_t step = steps[k][-1];
      if (k == 0) {
        for (int64_t i = 0; i < length; ++i) row[i] = W(from[i * step]);
      } else {
        for (int64_t i = 0; i < length; ++i) row[i] = join(row[i], W(from[i * step]));
      }
    }
    for (int64_t i = 0; i < length; ++i) y[begin + i] = T(finish(row[i]));
  }
}
