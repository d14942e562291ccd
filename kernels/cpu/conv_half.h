// Convolutions of 16-bit numbers: the direct way on float32, to which weights are widened when they are used.
//
// serves: Conv
// types: float16, bfloat16
// when: rank0 <= 5
// order: 20
#pragma once

#include <kernelwright.h>

#include "parts/direct_convolution.h"

KW_COMPILER("clang++", "g++");

template <class H>
inline kw::Tensor<const float> widened(const kw::Node& node, kw::Tensor<const H> x) {
  if (!x.given()) return {};
  float* const to = node.scratch<float>(x.count());
  share_ranges(node, threads_for(node, x.count()), x.count(), 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    simd::widen(x.data() + begin, end - begin, to + begin);
  });
  return {to, x.shape()};
}

template <class H>
inline void Conv(const kw::Node& node, kw::Tensor<const H> x, kw::Tensor<const H> w, kw::Tensor<const H> bias,
                 kw::Tensor<H>& y) {
  const convolution::Axes axes = convolution::axes_of(node, x.shape(), w.shape());
  kw::Shape shape{x.shape(0), w.shape(0)};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  kw::Tensor<float> sums(node.scratch<float>(y.count()), shape);
  direct::run(node, widened(node, x), widened(node, w), widened(node, bias), sums, nullptr);
  share_ranges(node, threads_for(node, y.count()), y.count(), 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    simd::narrow(sums.data() + begin, end - begin, y.data() + begin);
  });
}
