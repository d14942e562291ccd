// Real numbers as unsigned bytes by their own extent: one pass in vectors for the least and the largest, one to round.
//
// serves: DynamicQuantizeLinear
// types: float32
#pragma once

#include <kernelwright.h>

#include "parts/threads.h"
#include "parts/vector.h"

inline void DynamicQuantizeLinear(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<uint8_t>& y,
                                  kw::Tensor<float>& y_scale, kw::Tensor<uint8_t>& y_zero_point) {
  using simd::Floats;
  using simd::kLanes;
  const float* const from = x.data();
  const int64_t all = x.count();
  const auto least = [](auto a, auto b) { return a < b ? a : b; };
  const auto most = [](auto a, auto b) { return a > b ? a : b; };

  // The extremes are the same however the elements are cut.
  const int threads = threads_for(node, all);
  const int64_t pieces = pieces_of(threads, all, 1024);
  float* const ends = node.scratch<float>(2 * pieces);
  share(node, threads, pieces, [&](int64_t piece, int) KW_IN_PLACE {
    const int64_t begin = cut_of(all, 1024, pieces, piece), end = cut_of(all, 1024, pieces, piece + 1);
    Floats low[2] = {}, high[2] = {};  // zero is always inside
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      KW_UNROLL for (int v = 0; v < 2; ++v) {
        const Floats some = simd::load(from + i + v * kLanes);
        low[v] = simd::min(some, low[v]);
        high[v] = simd::max(some, high[v]);
      }
    }
    float lowest = simd::combined(simd::min(low[0], low[1]), least);
    float highest = simd::combined(simd::max(high[0], high[1]), most);
    for (; i < end; ++i) {
      lowest = std::min(lowest, from[i]);
      highest = std::max(highest, from[i]);
    }
    ends[2 * piece] = lowest;
    ends[2 * piece + 1] = highest;
  });
  float low = 0, high = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    low = std::min(low, ends[2 * i]);
    high = std::max(high, ends[2 * i + 1]);
  }

  const float scale = (high - low) / 255;
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
  y_scale.allocate({});
  y_scale[0] = scale;
  y_zero_point.allocate({});
  y_zero_point[0] = uint8_t(zero);
  y.allocate(x.shape());
  uint8_t* const to = y.data();
  share_ranges(node, threads, all, 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      const Floats whole = simd::to_whole<simd::Whole::nearest>(simd::load(from + i) / scale) + zero;
      const Floats cut = simd::min(simd::max(whole, Floats{}), simd::splat(255.0f));
      simd::store(to + i, __builtin_convertvector(simd::truncated(cut), simd::Vector<uint8_t>));
    }
    for (; i < end; ++i) to[i] = uint8_t(std::clamp(std::nearbyint(from[i] / scale) + zero, 0.0f, 255.0f));
  });
}
