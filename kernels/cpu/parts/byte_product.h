#pragma once

#include <kernelwright.h>

#include "threads.h"
#include "vector.h"

// Matrix products of 8-bit numbers, exact in 32 bits. A tile of the result stays in registers while its sums run over
// the depth, several steps at a time: a word holds what four steps take of a row or column, for the processor's dot
// products of four bytes (AVX-512 VNNI, AVX-VNNI, NEON's), or two steps as 16-bit numbers where it has none.
//
// Dot products of x86 multiply unsigned bytes by signed ones, those of NEON signed ones by signed ones. Bytes of the
// other kind are seen 128 higher or lower, and so are their zero points: what is left when these are taken off is the
// same. With p and q for the zero points as they are seen, sum (a - p)(b - q) = sum ab - p sum b - q sum a + k p q.

KW_TUNE(BYTE_ROWS, 6, 4, 6, 8, 12);    // of a tile
KW_TUNE(BYTE_VECTORS, 2, 1, 2, 3, 4);  // in each of its rows
KW_TUNE(BYTE_BLOCK, 96, 48, 96, 192);  // rows of the left matrix that meet a panel of the right one after another
KW_TUNE(BYTE_DOTS, 1, 1);              // 0: as on a processor without dot products of bytes
KW_REQUIRE(BYTE_ROWS* BYTE_VECTORS <= 24);

namespace bytes {

using simd::Floats;
using simd::Ints;
using simd::kLanes;
using simd::Unsigned;

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
inline constexpr bool kHasDots = true;
#elif defined(__AVXVNNI__)
inline constexpr bool kHasDots = kLanes <= 8;
#elif defined(__ARM_FEATURE_DOTPROD)
inline constexpr bool kHasDots = kLanes == 4;
#else
inline constexpr bool kHasDots = false;
#endif
#if defined(__x86_64__)
inline constexpr bool kRightIsUnsigned = true;
#else
inline constexpr bool kRightIsUnsigned = false;
#endif
inline constexpr bool kDots = kHasDots && BYTE_DOTS != 0;
inline constexpr int kTogether = kDots ? 4 : 2;  // steps in a word
inline constexpr int kPanel = BYTE_VECTORS * kLanes;

// By how much numbers of a type are seen higher, in the left matrix and in the right one.
template <class T>
inline constexpr int32_t kLeftShift = kDots&& std::is_unsigned_v<T> ? -128 : 0;
template <class T>
inline constexpr int32_t kRightShift = !kDots                                      ? 0
                                       : std::is_unsigned_v<T> == kRightIsUnsigned ? 0
                                       : kRightIsUnsigned                          ? 128
                                                                                   : -128;

inline int64_t words_of(int64_t depth) { return (depth + kTogether - 1) / kTogether; }

// A number's place in a word.
inline uint32_t in_word(int32_t seen, int place) {
  return kDots ? (static_cast<uint32_t>(seen) & 0xff) << 8 * place
               : (static_cast<uint32_t>(seen) & 0xffff) << 16 * place;
}

// sum + left * right, in every lane: the innermost step. Of GCC 12 and Zen 4 as simd::fma_each says it.
template <class V>
[[gnu::always_inline]] inline V dot(V sum, const int32_t& left, V right) {
  if constexpr (kDots) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#if !defined(__clang__) && (defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
    if constexpr (sizeof(V) == 64) {
      asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(right), "m"(left));
      return sum;
    }
#endif
    const V each = V{} + left;
    if constexpr (sizeof(V) == 64) return V(_mm512_dpbusd_epi32(__m512i(sum), __m512i(right), __m512i(each)));
    if constexpr (sizeof(V) == 32) return V(_mm256_dpbusd_epi32(__m256i(sum), __m256i(right), __m256i(each)));
    if constexpr (sizeof(V) == 16) return V(_mm_dpbusd_epi32(__m128i(sum), __m128i(right), __m128i(each)));
#elif defined(__AVXVNNI__)
    const V each = V{} + left;
    if constexpr (sizeof(V) == 32) return V(_mm256_dpbusd_avx_epi32(__m256i(sum), __m256i(right), __m256i(each)));
    if constexpr (sizeof(V) == 16) return V(_mm_dpbusd_avx_epi32(__m128i(sum), __m128i(right), __m128i(each)));
#elif defined(__ARM_FEATURE_DOTPROD)
    const V each = V{} + left;
    if constexpr (sizeof(V) == 16) return V(vdotq_s32(int32x4_t(sum), int8x16_t(right), int8x16_t(each)));
#endif
  }
  const V each = V{} + left;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) return sum + V(_mm512_madd_epi16(__m512i(right), __m512i(each)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return sum + V(_mm256_madd_epi16(__m256i(right), __m256i(each)));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return sum + V(_mm_madd_epi16(__m128i(right), __m128i(each)));
#endif
  return sum + (right << 16 >> 16) * (each << 16 >> 16) + (right >> 16) * (each >> 16);
}

// ---- The left matrix: tiles of rows as even as possible; the words of one step of a tile's rows lie side by side.

struct Left {
  const int32_t* data;
  int64_t rows, words;  // of a row

  int64_t tiles() const { return (rows + BYTE_ROWS - 1) / BYTE_ROWS; }
  int64_t begin(int64_t tile) const { return rows * tile / tiles(); }
  int64_t height(int64_t tile) const { return begin(tile + 1) - begin(tile); }
  const int32_t* at(int64_t tile) const { return data + begin(tile) * words; }
};

// One tile, `row` elements from a row to the next; `sums`, where it is not null: of the rows' numbers as they are seen.
template <class T>
inline void pack_left(const T* from, int64_t row, int64_t depth, int64_t rows, int32_t* to, int32_t* sums) {
  constexpr int32_t kShift = kLeftShift<T>;
  const int64_t whole = depth / kTogether, words = words_of(depth);
  for (int64_t r = 0; r < rows; ++r) {
    const T* const x = from + r * row;
    if constexpr (kDots) {
      for (int64_t k = 0; k < whole; ++k) {
        uint32_t word;
        memcpy(&word, x + 4 * k, 4);
        to[k * rows + r] = static_cast<int32_t>(kShift == 0 ? word : word ^ 0x80808080u);
      }
    } else {
      for (int64_t k = 0; k < whole; ++k) {
        to[k * rows + r] = static_cast<int32_t>(in_word(x[2 * k], 0) | in_word(x[2 * k + 1], 1));
      }
    }
    if (whole < words) {  // what goes beyond the depth is 0 here, and anything in the right matrix
      uint32_t word = 0;
      for (int64_t k = whole * kTogether; k < depth; ++k)
        word |= in_word(x[k] + kShift, static_cast<int>(k % kTogether));
      to[whole * rows + r] = static_cast<int32_t>(word);
    }
    if (sums == nullptr) continue;
    int32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += x[k];
    sums[r] = sum + static_cast<int32_t>(depth) * kShift;
  }
}

// ---- The right matrix: panels of kPanel columns, the words of one step side by side.

// Word i has element i * step of each row.
template <class T>
inline void interleave(const T* const (&rows)[kTogether], int64_t step, int64_t count, int32_t* __restrict to) {
  constexpr uint32_t kFlip = kDots && kRightShift<T> != 0 ? 0x80808080u : 0;
  const T* const __restrict a = rows[0];
  const T* const __restrict b = rows[1];
  if constexpr (kDots) {
    const T* const __restrict c = rows[2];
    const T* const __restrict d = rows[3];
    const auto word = [&](int64_t i) {
      return static_cast<int32_t>((uint32_t(uint8_t(a[i])) | uint32_t(uint8_t(b[i])) << 8 |
                                   uint32_t(uint8_t(c[i])) << 16 | uint32_t(uint8_t(d[i])) << 24) ^
                                  kFlip);
    };
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = word(i);
    } else {
      KW_KEEP_LOOP for (int64_t i = 0; i < count; ++i) to[i] = word(i * step);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<int32_t>(uint32_t(uint16_t(int16_t(a[i * step]))) | uint32_t(uint16_t(int16_t(b[i * step])))
                                                                                  << 16);
    }
  }
}

inline int64_t panels_of(int64_t columns) { return (columns + kPanel - 1) / kPanel; }
inline int64_t packed_size(int64_t depth, int64_t columns) { return panels_of(columns) * words_of(depth) * kPanel; }

// One panel of a matrix whose rows lie `row` elements apart. `sums`: of its columns' numbers as they are seen.
template <class T>
inline void pack_panel(const T* from, int64_t row, int64_t depth, int64_t columns, int32_t* to, int32_t* sums) {
  columns = std::min<int64_t>(columns, kPanel);
  for (int64_t k = 0; k < depth; k += kTogether, to += kPanel) {
    const T* rows[kTogether];
    for (int e = 0; e < kTogether; ++e) rows[e] = from + std::min(k + e, depth - 1) * row;
    interleave(rows, 1, columns, to);
    std::fill(to + columns, to + kPanel, 0);
  }
  std::fill(sums, sums + kPanel, 0);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) sums[j] += from[k * row + j];
  }
  for (int64_t j = 0; j < columns; ++j) sums[j] += static_cast<int32_t>(depth) * kRightShift<T>;
}

// Row k of words begins at data + k * step, or at data + offsets[k].
struct Panel {
  const int32_t* data;
  int64_t step;

  const int32_t* row(int64_t k) const { return data + k * step; }
};
struct Gathered {
  const int32_t* data;
  const int64_t* offsets;

  const int32_t* row(int64_t k) const { return data + offsets[k]; }
};

// ---- Tiles.

// Their sums, rows kPanel apart. With few of them there are several for each element, so that none waits for the last.
template <int kRows, class Right>
[[gnu::noinline]] inline void tile(const int32_t* left, const Right right, int64_t words, int32_t* to) {
  constexpr int kChains = kRows * BYTE_VECTORS >= 6 ? 1 : kRows * BYTE_VECTORS >= 3 ? 2 : 4;
  Ints sums[kChains][kRows][BYTE_VECTORS] = {};
  const auto step = [&](int64_t k, Ints(&some)[kRows][BYTE_VECTORS]) KW_IN_PLACE {
    const int32_t* const row = right.row(k);
    Ints b[BYTE_VECTORS];
    KW_UNROLL for (int v = 0; v < BYTE_VECTORS; ++v) b[v] = simd::load_as<Ints>(row + v * kLanes);
    KW_UNROLL for (int r = 0; r < kRows; ++r) {
      KW_UNROLL for (int v = 0; v < BYTE_VECTORS; ++v) some[r][v] = dot(some[r][v], left[k * kRows + r], b[v]);
    }
  };
  int64_t k = 0;
  for (; k + kChains <= words; k += kChains) {
    KW_UNROLL for (int c = 0; c < kChains; ++c) step(k + c, sums[c]);
  }
  if constexpr (kChains > 1) {
    for (; k < words; ++k) step(k, sums[0]);
  }
  KW_UNROLL for (int r = 0; r < kRows; ++r) {
    KW_UNROLL for (int v = 0; v < BYTE_VECTORS; ++v) {
      Unsigned sum = Unsigned(sums[0][r][v]);
      KW_UNROLL for (int c = 1; c < kChains; ++c) sum += Unsigned(sums[c][r][v]);
      simd::store(to + r * kPanel + v * kLanes, sum);
    }
  }
}
template <int kMost = BYTE_ROWS, class Right>
inline void tile_of(int64_t rows, const int32_t* left, const Right& right, int64_t words, int32_t* to) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return tile_of<kMost - 1>(rows, left, right, words, to);
  }
  tile<kMost>(left, right, words, to);
}

// The tiles from `first` up to but without `last` over some columns: done(row, rows, sums) for each.
template <class Right, class Done>
inline void down(const Left& left, int64_t first, int64_t last, const Right& right, const Done& done) {
  alignas(64) int32_t sums[BYTE_ROWS * kPanel];
  for (int64_t t = first; t < last; ++t) {
    tile_of(left.height(t), left.at(t), right, left.words, sums);
    done(left.begin(t), left.height(t), sums);
  }
}

// Products of the same sizes: left_of(p) and right_of(p) are packed, done(p, row, rows, column, sums) gets every tile.
template <class LeftOf, class RightOf, class Done>
inline void multiply(const kw::Node& node, int threads, int64_t products, Left left, int64_t columns,
                     const LeftOf& left_of, const RightOf& right_of, const Done& done) {
  constexpr int64_t kTiles = std::max(BYTE_BLOCK / BYTE_ROWS, 1);
  const int64_t panels = panels_of(columns), blocks = (left.tiles() + kTiles - 1) / kTiles;
  const int64_t wanted = threads <= 1 ? 1 : int64_t{threads} * kPiecesOfThread;
  const int64_t cuts = std::clamp<int64_t>((wanted + products * blocks - 1) / (products * blocks), 1, panels);
  share(node, threads, products * blocks * cuts, [&](int64_t i, int) KW_IN_PLACE {
    const int64_t cut = i % cuts, block = i / cuts % blocks, p = i / cuts / blocks;
    const Left those{left_of(p), left.rows, left.words};
    const int64_t first = block * kTiles, last = std::min(first + kTiles, left.tiles());
    for (int64_t panel = panels * cut / cuts; panel < panels * (cut + 1) / cuts; ++panel) {
      down(those, first, last, Panel{right_of(p) + panel * left.words * kPanel, kPanel},
           [&](int64_t row, int64_t rows, const int32_t* sums) { done(p, row, rows, panel * kPanel, sums); });
    }
  });
}

// ---- What becomes of sums.

// The first `count` lanes as 8-bit numbers, rounded (halves to even), moved by the zero point and cut to their range.
template <class Q>
inline void store_rounded(Floats value, float zero, Q* to, int64_t count) {
  const Floats low = simd::splat(float(std::numeric_limits<Q>::min())),
               high = simd::splat(float(std::numeric_limits<Q>::max()));
  const Floats whole = simd::to_whole<simd::Whole::nearest>(value) + zero;
  const auto narrow = __builtin_convertvector(simd::truncated(simd::min(simd::max(whole, low), high)), simd::Vector<Q>);
  if (count >= kLanes) {
    simd::store(to, narrow);
  } else {
    memcpy(to, &narrow, static_cast<size_t>(count));
  }
}
inline void store_sums(Unsigned sums, int32_t* to, int64_t count) {
  if (count >= kLanes) {
    simd::store(to, sums);
  } else {
    memcpy(to, &sums, static_cast<size_t>(count) * 4);
  }
}

}  // namespace bytes
