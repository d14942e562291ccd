#pragma once

#include <kernelwright.h>

#include "parts/copy_strided.h"
#include "parts/sliced.h"

// Slice: from start to end by step along each named axis; ends beyond the tensor are cut to it.
template <class T, class S, class E, class A, class P>
void Slice(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const S> starts, kw::Tensor<const E> ends,
           kw::Tensor<const A> axes, kw::Tensor<const P> steps, kw::Tensor<T>& y) {
  const Sliced taken = sliced(node, x, starts, ends, axes, steps);
  y.allocate(taken.shape);
  if (y.count() > 0) copy_strided(x.data() + taken.offset, taken.shape, taken.strides, y.data());
}
