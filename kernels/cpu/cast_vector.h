// Changes of type, and tests that give bools, in vectors: loops over all elements, and the processor's own instructions
// for half precision.
//
// serves: Cast, CastLike, IsNaN, Not
// types: float32, float16, bool, int32, int64, uint8
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/threads.h"

// A bool is a byte that holds 0 or 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class X, class Y>
void convert(const X* __restrict x, Y* __restrict y, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<X, float> && std::is_same_v<Y, kw::float16>) {
    for (; i + 8 <= count; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
    }
  }
  if constexpr (std::is_same_v<X, kw::float16> && std::is_same_v<Y, float>) {
    for (; i + 8 <= count; i += 8) {
      _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
    }
  }
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<X, float> && std::is_same_v<Y, kw::float16>) {
    for (; i + 8 <= count; i += 8) {
      const float16x8_t half = vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(x + i)), vld1q_f32(x + i + 4));
      vst1q_u16(reinterpret_cast<uint16_t*>(y + i), vreinterpretq_u16_f16(half));
    }
  }
  if constexpr (std::is_same_v<X, kw::float16> && std::is_same_v<Y, float>) {
    for (; i + 8 <= count; i += 8) {
      const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(x + i)));
      vst1q_f32(y + i, vcvt_f32_f16(vget_low_f16(half)));
      vst1q_f32(y + i + 4, vcvt_high_f32_f16(half));
    }
  }
#endif
  for (; i < count; ++i) y[i] = Y(x[i]);
}

// part(begin, count) of all elements, on the threads that are lent.
template <class Part>
void each_part(const kw::Node& node, int64_t all, Part part) {
  share_ranges(node, threads_for(node, all), all, 1024,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE { part(begin, end - begin); });
}

template <class X, class Y>
void Cast(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<Y>& y) {
  y.allocate(x.shape());
  if constexpr (std::is_same_v<X, Y>) {
    each_part(node, x.count(), [&](int64_t begin, int64_t count) {
      memcpy(y.data() + begin, x.data() + begin, static_cast<size_t>(count) * sizeof(X));
    });
  } else if constexpr (std::is_same_v<Y, bool>) {
    each_part(node, x.count(), [&](int64_t begin, int64_t count) {
      const X* __restrict from = x.data() + begin;
      auto* __restrict to = reinterpret_cast<uint8_t*>(y.data()) + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0;
    });
  } else {
    each_part(node, x.count(), [&](int64_t begin, int64_t count) {
      convert(reinterpret_cast<const Stored<X>*>(x.data()) + begin, y.data() + begin, count);
    });
  }
}
template <class X, class Y>
void CastLike(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<const Y>, kw::Tensor<Y>& y) {
  Cast(node, x, y);
}
template <class X>
void IsNaN(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<bool>& y) {
  y.allocate(x.shape());
  each_part(node, x.count(), [&](int64_t begin, int64_t count) {
    const X* __restrict from = x.data() + begin;
    auto* __restrict to = reinterpret_cast<uint8_t*>(y.data()) + begin;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] != from[i];
  });
}
template <class X>
void Not(const kw::Node& node, kw::Tensor<const X> x, kw::Tensor<bool>& y) {
  y.allocate(x.shape());
  each_part(node, x.count(), [&](int64_t begin, int64_t count) {
    const auto* __restrict from = reinterpret_cast<const uint8_t*>(x.data()) + begin;
    auto* __restrict to = reinterpret_cast<uint8_t*>(y.data()) + begin;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ 1;
  });
}
