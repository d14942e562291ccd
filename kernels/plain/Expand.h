#pragma once

#include <kernelwright.h>

#include "parts/broadcast.h"
#include "parts/copy_strided.h"

// Expand: the input broadcast with a shape.
template <class T>
void Expand(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  y.allocate(broadcast(x.shape(), kw::Shape(static_cast<int>(shape.count()), shape.data())));
  copy_strided(x.data(), y.shape(), broadcast_steps(x.shape(), y.shape()), y.data());
}
