// Real numbers as small integers and back in vectors, where one scale is for the whole tensor.
//
// serves: DequantizeLinear, QuantizeLinear
// types: float32
// when: size1 == 1
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/threads.h"
#include "parts/vector.h"

namespace quantize_vector_parts {

using simd::Floats;
using simd::kLanes;

// vector(i) of the elements from i on; the last vector begins earlier, or single(i) takes what is less than one.
template <class Vector, class Single>
inline void each(const kw::Node& node, int64_t all, const Vector& vector, const Single& single) {
  share_ranges(node, threads_for(node, all), all, 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    if (end - begin < kLanes) {
      for (int64_t i = begin; i < end; ++i) single(i);
      return;
    }
    for (int64_t i = begin; i + kLanes <= end; i += kLanes) vector(i);
    if ((end - begin) % kLanes != 0) vector(end - kLanes);
  });
}

}  // namespace quantize_vector_parts

template <class X, class S, class Z, class Y>
void QuantizeLinear(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> y_scale,
                    kw::Tensor<const Z> y_zero_point, kw::Tensor<Y>& y) {
  using namespace quantize_vector_parts;
  constexpr float kLow = std::numeric_limits<Y>::min(), kHigh = std::numeric_limits<Y>::max();
  y.allocate(x.shape());
  const float scale = y_scale[0], zero = y_zero_point.given() ? y_zero_point[0] : 0;
  const X* const from = x.data();
  Y* const to = y.data();
  each(
      node, x.count(),
      [=](int64_t i) KW_IN_PLACE {
        const auto some = simd::load_as<simd::Vector<X>>(from + i);
        const Floats whole = simd::to_whole<simd::Whole::nearest>(__builtin_convertvector(some, Floats) / scale) + zero;
        const Floats cut = simd::min(simd::max(whole, simd::splat(kLow)), simd::splat(kHigh));
        simd::store(to + i, __builtin_convertvector(simd::truncated(cut), simd::Vector<Y>));
      },
      [=](int64_t i)
          KW_IN_PLACE { to[i] = Y(std::clamp(std::nearbyint(float(from[i]) / scale) + zero, kLow, kHigh)); });
}

template <class X, class S, class Y>
void DequantizeLinear(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const S> x_scale,
                      kw::Tensor<const X> x_zero_point, kw::Tensor<Y>& y) {
  using namespace quantize_vector_parts;
  y.allocate(x.shape());
  const float scale = x_scale[0], zero = x_zero_point.given() ? x_zero_point[0] : 0;
  const X* const from = x.data();
  Y* const to = y.data();
  each(
      node, x.count(),
      [=](int64_t i) KW_IN_PLACE {
        const auto some = simd::load_as<simd::Vector<X>>(from + i);
        simd::store(to + i, (__builtin_convertvector(some, Floats) - zero) * scale);
      },
      [=](int64_t i) KW_IN_PLACE { to[i] = (float(from[i]) - zero) * scale; });
}
