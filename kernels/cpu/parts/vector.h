#pragma once

#include <kernelwright.h>

#include <bit>

// Vectors of as many lanes as the processor's registers hold, over the compilers' vector extensions: the same source
// serves AVX2, AVX-512 and NEON. Arithmetic, comparisons (-1 where true) and `mask ? a : b` are the language's own.
// Addresses need no alignment.

KW_TUNE(LANES, 0, 0, 4, 8, 16);  // of float; 0: what the processor has

#pragma GCC diagnostic ignored "-Wunused-function"  // a kernel takes from the parts what it needs
#pragma GCC diagnostic ignored "-Wunused-variable"  // and KW_COMPILER declares one
#pragma GCC diagnostic ignored "-Wpsabi"            // and passes no vectors outside

// Before a loop of few and constant turns: without it, arrays of vectors would leave the registers.
#if defined(__clang__)
#define KW_UNROLL _Pragma("clang loop unroll(full)")
#define KW_UNROLL_MORE KW_UNROLL
#else
#define KW_UNROLL _Pragma("GCC unroll 16")
#define KW_UNROLL_MORE _Pragma("GCC unroll 32")
#endif
// Before a loop that gains nothing from being unrolled or turned into vectors: it compiles faster.
#if defined(__clang__)
#define KW_KEEP_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define KW_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

namespace simd {

#if defined(__AVX512F__)
inline constexpr int kNatural = 16;
#elif defined(__AVX__)
inline constexpr int kNatural = 8;
#else
inline constexpr int kNatural = 4;
#endif
inline constexpr int kLanes = LANES == 0 ? kNatural : LANES;

// T's with as many lanes as floats have, whatever T's size.
template <class T, int N = kLanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, int N = kLanes>
using Vector = typename VectorOf<T, N>::type;

using Floats = Vector<float>;
// Eight floats, whatever the processor has: for what is shuffled.
#if defined(__aarch64__)
// Two registers of NEON: compilers keep a vector that is wider than any register in memory.
struct Eight {
  Vector<float, 4> low, high;

  friend Eight operator+(Eight a, Eight b) { return {a.low + b.low, a.high + b.high}; }
  friend Eight operator-(Eight a, Eight b) { return {a.low - b.low, a.high - b.high}; }
  friend Eight operator*(Eight a, Eight b) { return {a.low * b.low, a.high * b.high}; }
  friend Eight operator+(Eight a, float b) { return {a.low + b, a.high + b}; }
  friend Eight operator*(Eight a, float b) { return {a.low * b, a.high * b}; }
  friend Eight operator*(float a, Eight b) { return b * a; }
  Eight& operator+=(float b) { return *this = *this + b; }
};
#else
using Eight = Vector<float, 8>;
#endif
using Ints = Vector<int32_t>;
using Unsigned = Vector<uint32_t>;

template <class V, class T>
inline V load_as(const T* from) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<V, Eight>) {
    return {load_as<Vector<float, 4>>(from), load_as<Vector<float, 4>>(from + 4)};
  }
#endif
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
inline Floats load(const float* from) { return load_as<Floats>(from); }
template <class V, class T>
inline void store(T* to, V value) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<V, Eight>) {
    store(to, value.low);
    return store(to + 4, value.high);
  }
#endif
  __builtin_memcpy(to, &value, sizeof value);
}
inline Floats splat(float value) { return value - Floats{}; }  // minus zero changes nothing, -0 neither
inline Ints splat(int32_t value) { return Ints{} + value; }

inline Ints bits_of(Floats value) { return std::bit_cast<Ints>(value); }
inline Floats floats_of(Ints bits) { return std::bit_cast<Floats>(bits); }
inline Floats converted(Ints value) { return __builtin_convertvector(value, Floats); }
inline Ints truncated(Floats value) { return __builtin_convertvector(value, Ints); }

// Lanes of two vectors of eight, by their numbers: __builtin_shufflevector. NEON has vectors of four, and compilers
// take a shuffle of eight apart into single floats: there each half of the result is one of four, of two halves at
// most.
#if defined(__aarch64__)
template <int kA, int kB, int kC, int kD>
inline Vector<float, 4> shuffled_half(const Vector<float, 4> (&from)[4]) {
  constexpr int kFirst = kA / 4;
  constexpr int kOther = kB / 4 != kFirst ? kB / 4 : kC / 4 != kFirst ? kC / 4 : kD / 4;
  constexpr auto place = [](int lane) { return lane % 4 + (lane / 4 == kFirst ? 0 : 4); };
  constexpr auto known = [](int lane) { return lane / 4 == kFirst || lane / 4 == kOther; };
  static_assert(known(kB) && known(kC) && known(kD));
  return __builtin_shufflevector(from[kFirst], from[kOther], place(kA), place(kB), place(kC), place(kD));
}
#endif
template <int k0, int k1, int k2, int k3, int k4, int k5, int k6, int k7>
inline Eight shuffled(Eight a, Eight b) {
#if defined(__aarch64__)
  const Vector<float, 4> from[] = {a.low, a.high, b.low, b.high};
  return {shuffled_half<k0, k1, k2, k3>(from), shuffled_half<k4, k5, k6, k7>(from)};
#else
  return __builtin_shufflevector(a, b, k0, k1, k2, k3, k4, k5, k6, k7);
#endif
}

// -1 in the first `count` lanes.
inline Ints first_lanes(int64_t count) {
  Ints place{};
  for (int i = 0; i < kLanes; ++i) place[i] = i;
  return place < static_cast<int32_t>(std::min<int64_t>(count, kLanes));
}
#if defined(__AVX512F__)
// Of 16 lanes, a bit each. Intrinsics that take them are used with all where there are others without: GCC 12 warns of
// something uninitialised in those.
inline constexpr __mmask16 kAll = 0xffff;
inline __mmask16 first_bits(int64_t count) { return static_cast<__mmask16>(count < 16 ? (1u << count) - 1 : 0xffffu); }
#endif
// The lanes that `there` names; the others hold 0, or keep what was in memory.
template <class Mask>
inline Floats load_where(Mask there, const float* from) {
#if defined(__AVX__)
  if constexpr (sizeof(Mask) == 32) return Floats(_mm256_maskload_ps(from, __m256i(there)));
#endif
  Floats value{};
  for (int i = 0; i < kLanes; ++i) {
    if (there[i]) value[i] = from[i];
  }
  return value;
}
template <class Mask>
inline void store_where(Mask there, float* to, Vector<float, sizeof(Mask) / 4> value) {
#if defined(__AVX__)
  if constexpr (sizeof(Mask) == 32) return _mm256_maskstore_ps(to, __m256i(there), __m256(value));
#endif
  for (int i = 0; i < kLanes; ++i) {
    if (there[i]) to[i] = value[i];
  }
}
// The first `count` elements, all where there are more; the other lanes hold `rest`.
template <class V = Floats>
inline V load_some(const float* from, int64_t count, float rest = 0) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_mask_loadu_ps(__m512(V{} + rest), first_bits(count), from));
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(V) == 16) {  // one or two pieces, where lanes one by one would be four tests and moves
    if (count >= 4) return load_as<V>(from);
    auto some = vdupq_n_f32(rest);
    if (count >= 2) some = vcombine_f32(vld1_f32(from), vget_high_f32(some));
    if (count == 3) some = vld1q_lane_f32(from + 2, some, 2);
    if (count == 1) some = vld1q_lane_f32(from, some, 0);
    return V(some);
  }
#endif
  const Ints there = first_lanes(count);
  return there ? load_where(there, from) : splat(rest);
}
template <class V>
inline void store_some(float* to, V value, int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_mask_storeu_ps(to, first_bits(count), __m512(value));
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(V) == 16) {
    const auto four = float32x4_t(value);
    if (count >= 4) return vst1q_f32(to, four);
    if (count >= 2) vst1_f32(to, vget_low_f32(four));
    if (count == 3) vst1q_lane_f32(to + 2, four, 2);
    if (count == 1) vst1q_lane_f32(to, four, 0);
    return;
  }
#endif
  store_where(first_lanes(count), to, value);
}

inline Floats abs(Floats x) { return floats_of(bits_of(x) & 0x7fffffff); }
// `magnitude` with the sign of `sign`.
inline Floats with_sign(Floats magnitude, Floats sign) {
  return floats_of((bits_of(magnitude) & 0x7fffffff) | (bits_of(sign) & int32_t(0x80000000)));
}
// As the processor's: the second where one of them is NaN.
inline Floats max(Floats a, Floats b) { return a > b ? a : b; }
inline Floats min(Floats a, Floats b) { return a < b ? a : b; }

template <class V>
inline V sqrt(V x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_maskz_sqrt_ps(kAll, __m512(x)));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return V(_mm256_sqrt_ps(__m256(x)));
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(V) == 16) return V(vsqrtq_f32(float32x4_t(x)));
#endif
  V root{};
  for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(x[i]);
  return root;
}

// a * b + c, rounded once where the processor can.
template <class V>
inline V fma(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(V) == 32) return V(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  if constexpr (sizeof(V) == 16) return V(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
#elif defined(__aarch64__)
  if constexpr (sizeof(V) == 16) return V(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
#endif
  return a * b + c;
}
inline Floats fma(Floats a, float b, Floats c) { return fma(a, Floats{} + b, c); }
inline Floats fma(Floats a, Floats b, float c) { return fma(a, b, Floats{} + c); }
inline Floats fma(Floats a, float b, float c) { return fma(a, Floats{} + b, Floats{} + c); }

// a in every lane, times b, plus c, where `a` is read from memory for this: the innermost step of products. GCC 12
// makes a broadcast of its own of each number that is used twice, and its loops ran at 65 % of Zen 4's peak; with the
// number broadcast by the multiplication's own read they run at 95 % (kw_blocked_bench). Why is not known: Clang's
// loops have such broadcasts too, in another order, and are as fast.
[[gnu::always_inline]] inline Floats fma_each(const float& a, Floats b, Floats c) {
#if defined(__AVX512F__) && !defined(__clang__) && (defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
  if constexpr (sizeof(Floats) == 64) {
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(a));
    return c;
  }
#endif
  return fma(splat(a), b, c);
}

// Whether a comparison holds in any lane.
template <class V>
inline bool any(V mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_test_epi32_mask(__m512i(mask), __m512i(mask)) != 0;
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return !_mm256_testz_si256(__m256i(mask), __m256i(mask));
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(V) == 16) return vmaxvq_u32(uint32x4_t(mask)) != 0;
#endif
  int32_t found = 0;
  for (int i = 0; i < kLanes; ++i) found |= mask[i];
  return found != 0;
}

// To whole numbers: to the nearest (ties to even), down, up.
enum class Whole { nearest, down, up };
template <Whole kWay, class V>
inline V to_whole(V x) {
  [[maybe_unused]] constexpr int kMode = kWay == Whole::nearest ? 8 : kWay == Whole::down ? 9 : 10;  // x86: and quiet
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_maskz_roundscale_ps(kAll, __m512(x), kMode));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return V(_mm256_round_ps(__m256(x), kMode));
#endif
  V whole{};
  for (int i = 0; i < kLanes; ++i) {
    whole[i] = kWay == Whole::nearest ? __builtin_rintf(x[i])
               : kWay == Whole::down  ? __builtin_floorf(x[i])
                                      : __builtin_ceilf(x[i]);
  }
  return whole;
}

// All lanes as one, by halves; `combine` takes two numbers or two vectors.
template <int N = kLanes, class Combine>
inline float combined(Vector<float, N> value, Combine combine) {
#if defined(__aarch64__)
  constexpr int kNarrowest = 2;  // its registers have halves
#else
  constexpr int kNarrowest = 4;
#endif
  if constexpr (N > kNarrowest) {
    struct Halves {
      Vector<float, N / 2> low, high;
    };
    const auto halves = std::bit_cast<Halves>(value);
    return combined<N / 2>(combine(halves.low, halves.high), combine);
  } else if constexpr (N == 2) {
    return combine(value[0], value[1]);
  } else {
    return combine(combine(value[0], value[2]), combine(value[1], value[3]));
  }
}
inline float sum(Floats value) {
  return combined(value, [](auto a, auto b) { return a + b; });
}

}  // namespace simd
