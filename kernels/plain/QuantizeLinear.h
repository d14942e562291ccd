#pragma once

#include <kernelwright.h>

#include "parts/scale_runs.h"

// QuantizeLinear: round(x / scale) + zero point, halves to even, cut to the range of the result's type. In float, which
// is at least as precise as any `precision` that can be asked for.
template <class X, class S, class Z, class Y>
void QuantizeLinear(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> y_scale,
                    kw::Tensor<const Z> y_zero_point, kw::Tensor<Y>& y) {
  constexpr float kLow = std::numeric_limits<Y>::min();
  constexpr float kHigh = std::numeric_limits<Y>::max();
  y.allocate(x.shape());
  each_scale_run(node, x.shape(), y_scale.shape(), [&](int64_t begin, int64_t end, int64_t s) {
    const float scale = y_scale[s];
    const float zero = y_zero_point.given() ? y_zero_point[s] : 0;
    for (int64_t i = begin; i < end; ++i) {
      y[i] = Y(std::clamp(std::nearbyint(float(x[i]) / scale) + zero, kLow, kHigh));
    }
  });
}
