#pragma once

#include <kernelwright.h>

#include "broadcast_index.h"
#include "broadcast_steps.h"

// The shape that two shapes broadcast to: aligned at the last axis, lengths equal or 1.
inline kw::Shape broadcast(const kw::Shape& a, const kw::Shape& b) {
  kw::Shape both = a.rank >= b.rank ? a : b;
  const kw::Shape& other = a.rank >= b.rank ? b : a;
  for (int i = 1; i <= other.rank; ++i) {
    if (both[-i] == 1) both[-i] = other[-i];
  }
  return both;
}

// y = f(a, b) element by element, row by row of the last axis.
template <class A, class B, class Y, class F>
void broadcast_binary(kw::Tensor<const A> a, kw::Tensor<const B> b, kw::Tensor<Y>& y, F f) {
  y.allocate(broadcast(a.shape(), b.shape()));
  if (y.count() == 0) return;
  if (y.rank() == 0) {
    y[0] = f(a[0], b[0]);
    return;
  }
  const kw::Shape a_steps = broadcast_steps(a.shape(), y.shape());
  const kw::Shape b_steps = broadcast_steps(b.shape(), y.shape());
  const int64_t row = y.shape(-1);
  const int64_t a_step = a_steps[-1];
  const int64_t b_step = b_steps[-1];
  for (int64_t begin = 0; begin < y.count(); begin += row) {
    const A* from_a = a.data() + broadcast_index(begin, y.shape(), a_steps);
    const B* from_b = b.data() + broadcast_index(begin, y.shape(), b_steps);
    for (int64_t i = 0; i < row; ++i) y[begin + i] = f(from_a[i * a_step], from_b[i * b_step]);
  }
}
