#pragma once

#include <kernelwright.h>

#include "parts/scan.h"

// CumProd: running products along an axis; `exclusive` leaves each element itself out.
template <class T, class I>
void CumProd(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const I> axis, kw::Tensor<T>& y) {
  scan(
      node, x, axis[0], 1, [](Wide<T> p, Wide<T> q) { return p * q; }, y);
}
