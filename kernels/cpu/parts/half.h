#pragma once

#include <kernelwright.h>

#include "vector.h"

// Numbers of 16 bits in memory, float32 in registers.

namespace simd {

inline Floats load(const kw::float16* from) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    return std::bit_cast<Floats>(
        _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }
#endif
#if defined(__F16C__)
  if constexpr (kLanes == 8) {
    const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    Floats value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
  }
#elif defined(__aarch64__)
  if constexpr (kLanes == 4) {
    const float32x4_t wide = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&from->bits)));
    Floats value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
  }
#endif
  Floats value{};
  for (int i = 0; i < kLanes; ++i) value[i] = from[i];
  return value;
}
inline Floats load(const kw::bfloat16* from) {
  const auto bits = __builtin_convertvector(load_as<Vector<uint16_t>>(from), Unsigned) << 16;
  return std::bit_cast<Floats>(bits);
}

template <class H>
inline void widen(const H* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}
template <class H>
inline void narrow(const float* from, int64_t count, H* to) {
  int64_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<H, kw::float16>) {
    for (; i + 8 <= count; i += 8) {
      const __m128i some = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), some);
    }
  }
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<H, kw::float16>) {
    for (; i + 4 <= count; i += 4) {
      vst1_u16(&to[i].bits, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(from + i))));
    }
  }
#endif
  for (; i < count; ++i) to[i] = H(from[i]);
}

}  // namespace simd
