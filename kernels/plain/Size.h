#pragma once

#include <kernelwright.h>

// Size: the number of the input's elements.
template <class T>
void Size(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<int64_t>& y) {
  y.allocate({});
  y[0] = x.count();
}
