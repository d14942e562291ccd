#pragma once

#include <kernelwright.h>

#include "axis.h"
#include "wide.h"

// Every element along an axis joined with all before it, with `reverse` with all behind it; `exclusive` leaves the
// element itself out. Lanes that lie side by side run side by side.
template <class T, class Join>
void scan(const kw::Node& node, kw::Tensor<const T> x, int64_t axis, Wide<T> start, Join join, kw::Tensor<T>& y) {
  const bool exclusive = node.integer("exclusive") != 0;
  const bool reverse = node.integer("reverse") != 0;
  const AlongAxis view = along(x.shape(), axis);
  y.allocate(x.shape());
  Wide<T>* running = node.scratch<Wide<T>>(view.inner);
  for (int64_t o = 0; o < view.outer; ++o) {
    std::fill_n(running, view.inner, start);
    for (int64_t step = 0; step < view.length; ++step) {
      const int64_t k = reverse ? view.length - 1 - step : step;
      const int64_t begin = (o * view.length + k) * view.inner;
      for (int64_t i = 0; i < view.inner; ++i) {
        const Wide<T> before = running[i];
        running[i] = join(before, Wide<T>(x[begin + i]));
        y[begin + i] = T(exclusive ? before : running[i]);
      }
    }
  }
}
