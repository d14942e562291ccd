#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Clip: every element cut to the range from min to max; max where they cross. The limits are inputs, in old opsets
// attributes, and else the ends of the type.
template <class T>
void Clip(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const T> min, kw::Tensor<const T> max,
          kw::Tensor<T>& y) {
  using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, Wide<T>>>;
  T low = T(Limits::lowest());
  T high = T(Limits::max());
  if (node.has("min")) low = T(node.real("min"));
  if (node.has("max")) high = T(node.real("max"));
  if (min.given()) low = min[0];
  if (max.given()) high = max[0];
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const T raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;
  }
}
