#pragma once

#include <kernelwright.h>

#include <utility>

#include "vector.h"

#if defined(__aarch64__)
// Two rows of a square: of each two groups of kStep lanes one changes to the other row, as NEON's TRN1 and TRN2 do it.
template <int kStep, class Row, int... k>
[[gnu::always_inline]] inline void exchange(Row& a, Row& b, std::integer_sequence<int, k...>) {
  constexpr int kSide = sizeof...(k);
  const Row even = __builtin_shufflevector(a, b, ((k & kStep) != 0 ? kSide + k - kStep : k)...);
  b = __builtin_shufflevector(a, b, ((k & kStep) != 0 ? kSide + k : k + kStep)...);
  a = even;
}
template <int kStep, class Row, int kSide>
[[gnu::always_inline]] inline void exchange_rows(Row (&rows)[kSide]) {
  if constexpr (kStep < kSide) {
    KW_UNROLL
    for (int i = 0; i < kSide; ++i) {
      if ((i & kStep) == 0) exchange<kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<int, kSide>());
    }
    exchange_rows<2 * kStep>(rows);
  }
}
// A block of 8 x 8 elements, in squares whose rows are a register or half of one.
template <class T>
inline void turn_block(const T* from, int64_t from_pitch, T* to, int64_t to_pitch) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  constexpr int kSide = sizeof(T) == 1 ? 8 : 16 / sizeof(T);
  using Row = simd::Vector<Bits, kSide>;
  for (int r = 0; r < 8; r += kSide) {
    for (int c = 0; c < 8; c += kSide) {
      Row rows[kSide];
      KW_UNROLL
      for (int i = 0; i < kSide; ++i) __builtin_memcpy(&rows[i], from + (r + i) * from_pitch + c, sizeof(Row));
      exchange_rows<1>(rows);
      KW_UNROLL
      for (int i = 0; i < kSide; ++i) __builtin_memcpy(to + (c + i) * to_pitch + r, &rows[i], sizeof(Row));
    }
  }
}
#endif

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
#if defined(__aarch64__)
      if constexpr (sizeof(T) <= 8) {
        turn_block(at, from_pitch, put, to_pitch);
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
