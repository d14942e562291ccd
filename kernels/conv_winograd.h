// Convolution with kernels of 3 x 3 by Winograd's minimal filtering F(4x4, 3x3), for a quarter of the products.
//
// Another convolution that passes the condition below goes the direct way.
//
// serves: Conv
// types: float32
// when: rank0 >= 4 && rank0 <= 5 && group == 1 && size1 % 9 == 0 && size1 >= 2304
// order: 10
#include "parts/direct_convolution.h"
#include "parts/winograd.h"

KW_COMPILER("clang++", "g++");

inline const void* prepare_Conv(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> x,
                                kw::Tensor<const float> w, kw::Tensor<const float>) {
  if (!w.given() || w.count() == 0) return nullptr;
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  if (!winograd::suits(axes)) return direct::prepare(call, node, w);
  float* kept = call.keep<float>(w.count() * 4);
  winograd::transform_weights(w.data(), w.shape(0), w.shape(1), axes[0].kernel, kept);
  return kept;
}

inline void Conv(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                 kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  if (!winograd::suits(axes)) return direct::run(node, x, w, bias, y, kept);
  const int64_t features = w.shape(0), channels = w.shape(1);
  kw::Shape shape{x.shape(0), features};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  const float* weights = static_cast<const float*>(kept);
  if (kept == nullptr) {
    float* transformed = node.scratch<float>(w.count() * 4);
    winograd::transform_weights(w.data(), features, channels, axes[0].kernel, transformed);
    weights = transformed;
  }
  winograd::Memory memory{};
  for (int64_t n = 0; n < x.shape(0); ++n) {
    winograd::run(node, axes, x.data() + n * channels * axes.inputs(), channels, weights, features,
                  bias.given() ? bias.data() : nullptr, y.data() + n * features * axes.outputs(), memory);
  }
}
