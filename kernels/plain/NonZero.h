#pragma once

#include <kernelwright.h>

// NonZero: the coordinates of the elements that are not zero, one row for each axis, in the input's order.
template <class T>
void NonZero(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<int64_t>& y) {
  const auto is_nonzero = [](T value) { return value != T(0); };
  const int64_t count = std::count_if(x.begin(), x.end(), is_nonzero);
  y.allocate({x.rank(), count});
  if (count == 0 || x.rank() == 0) return;
  const int last = x.rank() - 1;
  kw::Shape at = x.shape();  // the coordinates of the row
  for (int axis = 0; axis < x.rank(); ++axis) at[axis] = 0;
  int64_t found = 0;
  for (int64_t begin = 0; begin < x.count(); begin += x.shape(last)) {
    for (int64_t i = 0; i < x.shape(last); ++i) {
      if (!is_nonzero(x[begin + i])) continue;
      for (int axis = 0; axis < last; ++axis) y[axis * count + found] = at[axis];
      y[last * count + found] = i;
      ++found;
    }
    for (int axis = last - 1; axis >= 0 && ++at[axis] == x.shape(axis); --axis) at[axis] = 0;
  }
}
