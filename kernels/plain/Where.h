#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"

// Where: x where the condition holds, y elsewhere, broadcast.
template <class T>
void Where(const kw::Node&, kw::Tensor<const bool> condition, kw::Tensor<const T> x, kw::Tensor<const T> y,
           kw::Tensor<T>& z) {
  kw::Shape shape = broadcast(condition.shape(), broadcast(x.shape(), y.shape()));
  z.allocate(shape);
  if (z.count() == 0) return;
  if (shape.rank == 0) shape.push(1);
  const kw::Shape condition_steps = broadcast_steps(condition.shape(), shape);
  const kw::Shape x_steps = broadcast_steps(x.shape(), shape);
  const kw::Shape y_steps = broadcast_steps(y.shape(), shape);
  const int64_t condition_step = condition_steps[-1], x_step = x_steps[-1], y_step = y_steps[-1];
  const int64_t length = shape[-1];
  for (int64_t begin = 0; begin < z.count(); begin += length) {
    const bool* holds = condition.data() + broadcast_index(begin, shape, condition_steps);
    const T* from_x = x.data() + broadcast_index(begin, shape, x_steps);
    const T* from_y = y.data() + broadcast_index(begin, shape, y_steps);
    for (int64_t i = 0; i < length; ++i) {
      z[begin + i] = holds[i * condition_step] ? from_x[i * x_step] : from_y[i * y_step];
    }
  }
}
