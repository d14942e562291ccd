#pragma once

#include <kernelwright.h>

// ConstantOfShape: a tensor of the shape that the input's numbers say, filled with one value.
template <class T>
void ConstantOfShape(const kw::Node& node, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  y.allocate(kw::Shape(static_cast<int>(shape.count()), shape.data()));
  const bool integer = !node.integers("value").empty();
  std::fill(y.begin(), y.end(), integer ? T(node.integer("value")) : T(node.real("value")));
}
