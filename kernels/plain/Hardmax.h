#pragma once

#include <kernelwright.h>

#include "parts/softmax_rows.h"

// Hardmax: 1 at the first maximum along an axis, 0 elsewhere.
template <class T>
void Hardmax(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  std::fill(y.begin(), y.end(), T(0));
  if (x.count() == 0) return;
  const AlongAxis view = softmax_rows(node, x.shape());
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const int64_t first = o * view.length * view.inner + i;
      int64_t best = first;
      for (int64_t k = 1; k < view.length; ++k) {
        const int64_t at = first + k * view.inner;
        if (x[at] > x[best]) best = at;
      }
      y[best] = T(1);
    }
  }
}
