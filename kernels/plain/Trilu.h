#pragma once

#include <kernelwright.h>

// Trilu: the upper or lower triangle of every matrix, from its k-th diagonal on; zero elsewhere.
template <class T>
void Trilu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> k, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  const int64_t rows = x.shape(-2);
  const int64_t columns = x.shape(-1);
  const bool upper = node.integer("upper", 1) != 0;
  const int64_t diagonal = k.given() ? std::clamp(k[0], -rows, columns) : 0;
  for (int64_t matrix = 0; matrix < x.count(); matrix += rows * columns) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = upper ? std::clamp<int64_t>(row + diagonal, 0, columns) : 0;
      const int64_t last = upper ? columns : std::clamp<int64_t>(row + diagonal + 1, 0, columns);
      const T* from = x.data() + matrix + row * columns;
      T* to = y.data() + matrix + row * columns;
      for (int64_t column = 0; column < first; ++column) to[column] = T(0);
      for (int64_t column = first; column < last; ++column) to[column] = from[column];
      for (int64_t column = last; column < columns; ++column) to[column] = T(0);
    }
  }
}
