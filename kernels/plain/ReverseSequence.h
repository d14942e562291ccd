#pragma once

#include <kernelwright.h>

// ReverseSequence: the first lengths[b] steps of every sequence b in reverse order.
template <class T>
void ReverseSequence(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> lengths, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  const bool time_first = node.integer("time_axis") == 0;
  const int64_t columns = x.shape(1);
  const int64_t inner = x.shape().count(2, x.rank());
  T* to = y.data();
  for (int64_t row = 0; row < x.shape(0); ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t time = time_first ? row : column;
      const int64_t length = lengths[time_first ? column : row];
      const int64_t source = time < length ? length - 1 - time : time;
      const int64_t from = time_first ? source * columns + column : row * columns + source;
      to = std::copy_n(x.data() + from * inner, inner, to);
    }
  }
}
