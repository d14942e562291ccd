#pragma once

#include <kernelwright.h>

#include "parts/axis.h"
#include "parts/wide.h"

// LRN: every element divided by a power of the sum of squares in the channels around it.
template <class T>
void LRN(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t size = node.integer("size");
  const W weight = W(node.real("alpha") / double(size));
  const W beta = W(node.real("beta"));
  const W bias = W(node.real("bias"));
  const AlongAxis channels = along(x.shape(), 1);
  y.allocate(x.shape());
  W* squares = node.scratch<W>(channels.inner);
  for (int64_t o = 0; o < channels.outer; ++o) {
    const T* from = x.data() + o * channels.length * channels.inner;
    T* to = y.data() + o * channels.length * channels.inner;
    for (int64_t c = 0; c < channels.length; ++c) {
      const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
      const int64_t last = std::min(channels.length - 1, c + size / 2);
      std::fill_n(squares, channels.inner, W(0));
      for (int64_t k = first; k <= last; ++k) {
        for (int64_t i = 0; i < channels.inner; ++i) {
          const W value = from[k * channels.inner + i];
          squares[i] += value * value;
        }
      }
      for (int64_t i = 0; i < channels.inner; ++i) {
        const int64_t at = c * channels.inner + i;
        to[at] = T(from[at] / std::pow(bias + weight * squares[i], beta));
      }
    }
  }
}
