// Local response normalisation: squares are summed over neighbouring channels in vectors, powers taken in vectors.
//
// serves: LRN
// types: float32
// order: 10
#pragma once

#include <kernelwright.h>

#include "../plain/parts/axis.h"
#include "parts/math_pow.h"
#include "parts/threads.h"

inline void LRN(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  using simd::Floats;
  using simd::kLanes;
  const int64_t size = node.integer("size");
  const float weight = float(node.real("alpha") / double(size)), beta = float(node.real("beta")),
              bias = float(node.real("bias"));
  const AlongAxis channels = along(x.shape(), 1);
  const int64_t inner = channels.inner, length = channels.length;
  y.allocate(x.shape());
  const auto some = [&](const float* from, int64_t count) {
    return count >= kLanes ? simd::load(from) : simd::load_some(from, count);
  };
  // A vector of pixels, channel by channel.
  const int64_t columns = (inner + kLanes - 1) / kLanes;
  share_ranges(node, threads_for(node, x.count()), channels.outer * columns, 1,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i / columns * length * inner + i % columns * kLanes;
                   const int64_t count = inner - i % columns * kLanes;
                   const float* const from = x.data() + first;
                   for (int64_t c = 0; c < length; ++c) {
                     Floats squares{};
                     const int64_t last = std::min(length - 1, c + size / 2);
                     for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2); k <= last; ++k) {
                       const Floats value = some(from + k * inner, count);
                       squares = simd::fma(value, value, squares);
                     }
                     const Floats power =
                         simd::pow(simd::fma(simd::splat(weight), squares, simd::splat(bias)), simd::splat(beta));
                     const Floats result = some(from + c * inner, count) / power;
                     float* const to = y.data() + first + c * inner;
                     if (count >= kLanes) {
                       simd::store(to, result);
                     } else {
                       simd::store_some(to, result, count);
                     }
                   }
                 }
               });
}
