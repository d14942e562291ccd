#pragma once

#include <kernelwright.h>

#include "vector.h"

// Rows of `from` become columns of `to`; both are `pitch` elements apart.
template <class T>
inline void turn_matrix(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, T* to, int64_t to_pitch) {
  constexpr int64_t kBlock = 8;
  int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) {
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock) {
      const T* at = from + r * from_pitch + c;
      T* put = to + c * to_pitch + r;
#if defined(__AVX__)
      if constexpr (sizeof(T) == 4) {
        const auto pair = [&](int row) {  // the halves of a row beside those of the row four below
          struct Halves {
            __m256 low, high;
          };
          const __m256 upper = _mm256_loadu_ps(reinterpret_cast<const float*>(at + row * from_pitch));
          const __m256 lower = _mm256_loadu_ps(reinterpret_cast<const float*>(at + (row + 4) * from_pitch));
          return Halves{_mm256_permute2f128_ps(upper, lower, 0x20), _mm256_permute2f128_ps(upper, lower, 0x31)};
        };
        const auto a = pair(0), b = pair(1), c4 = pair(2), d = pair(3);
        const auto four = [&](__m256 p, __m256 q, __m256 s, __m256 t, int column) {
          const __m256 low0 = _mm256_unpacklo_ps(p, q), high0 = _mm256_unpackhi_ps(p, q);
          const __m256 low1 = _mm256_unpacklo_ps(s, t), high1 = _mm256_unpackhi_ps(s, t);
          const __m256 turned[4] = {_mm256_shuffle_ps(low0, low1, 0x44), _mm256_shuffle_ps(low0, low1, 0xee),
                                    _mm256_shuffle_ps(high0, high1, 0x44), _mm256_shuffle_ps(high0, high1, 0xee)};
          for (int k = 0; k < 4; ++k) {
            _mm256_storeu_ps(reinterpret_cast<float*>(put + (column + k) * to_pitch), turned[k]);
          }
        };
        four(a.low, b.low, c4.low, d.low, 0);
        four(a.high, b.high, c4.high, d.high, 4);
        continue;
      }
#endif
      for (int64_t j = 0; j < kBlock; ++j) {
        for (int64_t i = 0; i < kBlock; ++i) put[j * to_pitch + i] = at[i * from_pitch + j];
      }
    }
    for (; c < columns; ++c) {
      for (int64_t i = 0; i < kBlock; ++i) to[c * to_pitch + r + i] = from[(r + i) * from_pitch + c];
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}
