#pragma once

#include <kernelwright.h>

#include "threads.h"
#include "vector.h"

// y = f(x), element by element, for an f of whole vectors. The last vector is computed once more where it is not whole,
// so that nothing depends on where a tensor lies. Results larger than the caches are written past them: the lines that
// they overwrite need not be read first. They are written in four places in turn: memory answers one stream at a part
// of its speed.

KW_TUNE(MAP_UNROLL, 2, 1, 2, 4);
KW_TUNE(MAP_STREAM_MIB, 32, 8, 16, 32, 128, 4096);

namespace simd {

template <class V>
inline void stream(float* to, V value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_stream_ps(to, __m512(value));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return _mm256_stream_ps(to, __m256(value));
#endif
  store(to, value);
}
inline void end_of_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}
inline constexpr int64_t kLine = 16;  // floats of a cache line
inline int64_t floats_to_next_line(const float* at) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(at) / sizeof(float) % kLine);
}

// Past the caches: whole(i) is the vector from element i on.
template <class Whole>
inline void fill_past_caches(float* to, int64_t count, Whole whole) {
  constexpr int kPlaces = 4;
  constexpr int64_t kStep = 8 * kLine;  // in one place, before the next one's turn
  const int64_t begin = std::min(floats_to_next_line(to), count - kLanes);
  const int64_t part = (count - begin) / (kPlaces * kStep) * kStep;
  for (int64_t i = 0; i < begin; i += kLanes) store(to + i, whole(i));
  for (int64_t i = begin; i < begin + part; i += kStep) {
    for (int64_t at = i; at < i + kPlaces * part; at += part) {
      for (int64_t u = 0; u < kStep; u += MAP_UNROLL * kLanes) {
        Floats some[MAP_UNROLL];
        KW_UNROLL for (int b = 0; b < MAP_UNROLL; ++b) some[b] = whole(at + u + b * kLanes);
        KW_UNROLL for (int b = 0; b < MAP_UNROLL; ++b) stream(to + at + u + b * kLanes, some[b]);
      }
    }
  }
  for (int64_t i = begin + kPlaces * part; i + kLanes <= count; i += kLanes) store(to + i, whole(i));
  store(to + count - kLanes, whole(count - kLanes));
  end_of_streams();
}

template <class Whole, class Some>
inline void fill_caches(float* to, int64_t count, Whole whole, Some some) {
  if (count < kLanes) {
    if (count > 0) store_some(to, some(count), count);
    return;
  }
  int64_t i = 0;
  for (; i + MAP_UNROLL * kLanes <= count; i += MAP_UNROLL * kLanes) {
    for (int u = 0; u < MAP_UNROLL; ++u) store(to + i + u * kLanes, whole(i + u * kLanes));
  }
  if constexpr (MAP_UNROLL > 1) {
    for (; i + kLanes <= count; i += kLanes) store(to + i, whole(i));
  }
  if (i < count) store(to + count - kLanes, whole(count - kLanes));
}

// Fills `to` with vectors: whole(i) is the one from element i on, some(n) one that holds the n elements that there are.
template <class Whole, class Some>
inline void fill(float* to, int64_t count, Whole whole, Some some) {
  if (count >= kLanes && count >= int64_t{MAP_STREAM_MIB} << 18) return fill_past_caches(to, count, whole);
  fill_caches(to, count, whole, some);
}

template <class F>
inline void map(kw::Tensor<const float> x, kw::Tensor<float>& y, F f) {
  y.allocate(x.shape());
  const float* from = x.data();
  fill(
      y.data(), x.count(), [=](int64_t i) { return f(load(from + i)); },
      [=](int64_t n) { return f(load_some(from, n)); });
}

// The same on the threads that are lent.
template <class Whole, class Some>
inline void fill(const kw::Node& node, float* to, int64_t count, Whole whole, Some some) {
  const bool past_caches = count >= kLanes && count >= int64_t{MAP_STREAM_MIB} << 18;
  share_ranges(node, threads_for(node, count), count, 64 * kLine, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    const auto from = [&](int64_t i) { return whole(begin + i); };
    if (past_caches) {
      fill_past_caches(to + begin, end - begin, from);
    } else {
      fill_caches(to + begin, end - begin, from, some);
    }
  });
}
template <class F>
inline void map(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y, F f) {
  y.allocate(x.shape());
  const float* from = x.data();
  fill(
      node, y.data(), x.count(), [=](int64_t i) { return f(load(from + i)); },
      [=](int64_t n) { return f(load_some(from, n)); });
}

}  // namespace simd
