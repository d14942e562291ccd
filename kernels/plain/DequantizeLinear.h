#pragma once

#include <kernelwright.h>

#include "parts/scale_runs.h"

// DequantizeLinear: (x - zero point) * scale.
template <class X, class S, class Y>
void DequantizeLinear(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> x_scale,
                      kw::Tensor<const X> x_zero_point, kw::Tensor<Y>& y) {
  y.allocate(x.shape());
  each_scale_run(node, x.shape(), x_scale.shape(), [&](int64_t begin, int64_t end, int64_t s) {
    const float scale = x_scale[s];
    const float zero = x_zero_point.given() ? x_zero_point[s] : 0;
    for (int64_t i = begin; i < end; ++i) y[i] = Y((float(x[i]) - zero) * scale);
  });
}
