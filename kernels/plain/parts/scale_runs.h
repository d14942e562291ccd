#pragma once

#include <kernelwright.h>

#include "axis.h"

// Calls f(begin, end, s) for every run of elements that share scale s: the whole tensor, one place along the axis, or
// in blocks of places.
template <class F>
void each_scale_run(const kw::Node& node, const kw::Shape& shape, const kw::Shape& scales, F f) {
  const int64_t block = node.integer("block_size");
  if (block == 0 && scales.rank <= 1 && scales.count() == 1) return f(0, shape.count(), 0);
  const AlongAxis view = along(shape, node.integer("axis"));
  if (block == 0) {
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.length; ++k) {
        const int64_t begin = (o * view.length + k) * view.inner;
        f(begin, begin + view.inner, k);
      }
    }
    return;
  }
  int64_t scale = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t first = 0; first < view.length; first += block) {
      const int64_t last = std::min(first + block, view.length);
      if (view.inner == 1) {
        f(o * view.length + first, o * view.length + last, scale);
      } else {
        for (int64_t k = first; k < last; ++k) {
          const int64_t begin = (o * view.length + k) * view.inner;
          for (int64_t i = 0; i < view.inner; ++i) f(begin + i, begin + i + 1, scale + i);
        }
      }
      scale += view.inner;
    }
  }
}
