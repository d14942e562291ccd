#pragma once

#include <kernelwright.h>

#include "wide.h"

// constant + once * cos(a) + twice * cos(2 a), where a goes once around.
template <class I, class T>
void cosine_window(const kw::Node& node, kw::Tensor<const I> size, kw::Tensor<T>& y, double constant, double once,
                   double twice) {
  using W = Wide<T>;
  y.allocate({int64_t(size[0])});
  const int64_t period = node.integer("periodic") != 0 ? y.count() : y.count() - 1;
  for (int64_t n = 0; n < y.count(); ++n) {
    const W angle = W(2 * M_PI) * W(n) / W(period);
    y[n] = T(W(constant) + W(once) * std::cos(angle) + W(twice) * std::cos(2 * angle));
  }
}
