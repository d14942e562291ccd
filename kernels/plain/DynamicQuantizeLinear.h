#pragma once

#include <kernelwright.h>

// DynamicQuantizeLinear: real numbers as unsigned bytes, with the scale and the zero point that just hold them all and
// zero.
inline void DynamicQuantizeLinear(const kw::Node&, kw::Tensor<const float> x, kw::Tensor<uint8_t>& y,
                                  kw::Tensor<float>& y_scale, kw::Tensor<uint8_t>& y_zero_point) {
  float low = 0, high = 0;
  for (float value : x) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = (high - low) / 255;
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
  y_scale.allocate({});
  y_scale[0] = scale;
  y_zero_point.allocate({});
  y_zero_point[0] = uint8_t(zero);
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    y[i] = uint8_t(std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f));
  }
}
