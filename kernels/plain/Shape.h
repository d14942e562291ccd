#pragma once

#include <kernelwright.h>

// Shape: the lengths of the input's axes, from axis `start` to before axis `end`.
template <class T>
void Shape(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<int64_t>& y) {
  const int64_t rank = x.rank();
  const auto place = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t start = place(node.integer("start"));
  const int64_t end = std::max(start, place(node.integer("end", rank)));
  y.allocate({end - start});
  std::copy_n(x.shape().dims + start, end - start, y.data());
}
