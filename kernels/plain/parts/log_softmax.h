#pragma once

#include <kernelwright.h>

#include "axis.h"
#include "wide.h"

// The logarithm of the softmax along every row: x less the largest, less the logarithm of the sum of exponentials.
template <class T>
void log_softmax(kw::Tensor<const T> x, const AlongAxis& view, kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate(x.shape());
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      T* to = y.data() + o * view.length * view.inner + i;
      W largest = -INFINITY;
      for (int64_t k = 0; k < view.length; ++k) largest = std::max(largest, W(from[k * view.inner]));
      W sum = 0;
      for (int64_t k = 0; k < view.length; ++k) sum += std::exp(W(from[k * view.inner]) - largest);
      const W log_sum = std::log(sum);
      for (int64_t k = 0; k < view.length; ++k) to[k * view.inner] = T(from[k * view.inner] - largest - log_sum);
    }
  }
}
