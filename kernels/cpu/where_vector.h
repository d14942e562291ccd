// Where in vectors: whole runs of the result, chosen by bytes that are widened to masks.
//
// serves: Where
// types: float32
// parts: any
#pragma once

#include <kernelwright.h>

#include "parts/broadcast_runs.h"
#include "parts/map.h"

using simd::Floats;
using simd::Ints;
using simd::kLanes;

template <class Mask>
inline Mask widened(const uint8_t* bytes) {  // the compilers' own conversion goes byte by byte
#if defined(__AVX512F__)
  if constexpr (sizeof(Mask) == 64) {
    return Mask(_mm512_maskz_cvtepu8_epi32(simd::kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(Mask) == 32) {
    int64_t all;
    memcpy(&all, bytes, sizeof all);
    return Mask(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(all)));
  }
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(Mask) == 16) {
    uint32_t all;
    memcpy(&all, bytes, sizeof all);
    return Mask(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(all)))));
  }
#endif
  return __builtin_convertvector(simd::load_as<simd::Vector<int8_t>>(bytes), Mask);
}
inline Ints mask_of(const uint8_t* bytes) { return widened<Ints>(bytes) != 0; }
inline Ints mask_of_some(const uint8_t* bytes, int64_t count) {
  uint8_t lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = bytes[i];
  return mask_of(lanes);
}
inline Floats same(const float* from) {  // the bits, also of -0
#if defined(__aarch64__)
  if constexpr (kLanes == 4) return Floats(vld1q_dup_f32(from));
#endif
  Floats lanes{};
  for (int i = 0; i < kLanes; ++i) lanes[i] = *from;
  return lanes;
}

// A run in which the condition changes, and the values as they do.
template <bool kXStays, bool kYStays>
inline void choose(const uint8_t* holds, const float* x, const float* y, float* to, int64_t count) {
  const Floats same_x = same(x), same_y = same(y);
  simd::fill(
      to, count,
      [=](int64_t i) {
        return mask_of(holds + i) ? (kXStays ? same_x : simd::load(x + i)) : (kYStays ? same_y : simd::load(y + i));
      },
      [=](int64_t n) {
        return mask_of_some(holds, n) ? (kXStays ? same_x : simd::load_some(x, n))
                                      : (kYStays ? same_y : simd::load_some(y, n));
      });
}

inline void Where(const kw::Node& node, kw::Tensor<const bool> condition, kw::Tensor<const float> x,
                  kw::Tensor<const float> y, kw::Tensor<float>& z) {
  z.allocate(broadcast_shape(condition.shape(), broadcast_shape(x.shape(), y.shape())));
  if (z.count() == 0) return;
  const auto* holds = reinterpret_cast<const uint8_t*>(condition.data());
  const Runs<3> runs = runs_of<3>(z.shape(), {&condition.shape(), &x.shape(), &y.shape()});
  const auto run = !runs.stays[1] ? (!runs.stays[2] ? choose<false, false> : choose<false, true>)
                                  : (!runs.stays[2] ? choose<true, false> : choose<true, true>);
  each_run(node, runs, [&](int64_t i, const int64_t(&at)[3], int64_t count) {
    float* to = z.data() + i;
    if (!runs.stays[0]) return run(holds + at[0], x.data() + at[1], y.data() + at[2], to, count);
    const int k = holds[at[0]] != 0 ? 1 : 2;
    const float* from = (k == 1 ? x.data() : y.data()) + at[k];
    if (runs.stays[k]) {
      std::fill_n(to, count, *from);
    } else {
      memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    }
  });
}
