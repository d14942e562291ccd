#pragma once

#include <kernelwright.h>

#include "parts/axis.h"
#include "parts/wide.h"

// LpNormalization: the elements along an axis divided by their L1 or L2 norm; zeros stay zeros.
template <class T>
void LpNormalization(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const bool is_l1 = node.integer("p") == 1;
  const AlongAxis view = along(x.shape(), node.integer("axis"));
  y.allocate(x.shape());
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      T* to = y.data() + o * view.length * view.inner + i;
      W sum = 0;
      for (int64_t k = 0; k < view.length; ++k) {
        const W value = from[k * view.inner];
        sum += is_l1 ? std::abs(value) : value * value;
      }
      const W norm = is_l1 ? sum : std::sqrt(sum);
      for (int64_t k = 0; k < view.length; ++k) to[k * view.inner] = norm == 0 ? T(0) : T(from[k * view.inner] / norm);
    }
  }
}
