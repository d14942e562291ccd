#pragma once

#include <kernelwright.h>

#include "direct_convolution.h"
#include "winograd.h"

// A whole Conv by minimal filtering with tiles of kTall rows, or the direct way where that does not suit it.

namespace winograd {

template <int kTall>
const void* prepare_convolution(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                kw::Tensor<const float> w) {
  if (!w.given() || w.count() == 0) return nullptr;
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  if (!suits<kTall>(axes)) return direct::prepare(call, node, w);
  float* kept = call.keep<float>(w.count() * (kTall == 1 ? 2 : 4));
  transform_weights<kTall>(w.data(), w.shape(0), w.shape(1), axes[0].kernel, kept);
  return kept;
}

template <int kTall>
void convolve(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w, kw::Tensor<const float> bias,
              kw::Tensor<float>& y, const void* kept) {
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  if (!suits<kTall>(axes)) return direct::run(node, x, w, bias, y, kept);
  const int64_t features = w.shape(0), channels = w.shape(1);
  kw::Shape shape{x.shape(0), features};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  const float* weights = static_cast<const float*>(kept);
  if (kept == nullptr) {
    float* transformed = node.scratch<float>(w.count() * (kTall == 1 ? 2 : 4));
    transform_weights<kTall>(w.data(), features, channels, axes[0].kernel, transformed);
    weights = transformed;
  }
  run<kTall>(node, axes, x.shape(0), x.data(), channels, weights, features, bias.given() ? bias.data() : nullptr,
             y.data());
}

}  // namespace winograd
