// Sixteen floats at a time. Functions carry their instruction set, the file is compiled for every processor.
#include "lm/row_products.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define KW_LANES __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")))
#include "lm/row_products_tiles.h"

namespace kw::lm {
namespace {

struct Sixteen {
  using Register = __m512;
  static constexpr int count = 16, vectors = 4;  // 16 sums of the 32 registers

  KW_LANES_INLINE static __m512 everywhere(float value) { return _mm512_set1_ps(value); }
  KW_LANES_INLINE static __m512 add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
  KW_LANES_INLINE static __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
  KW_LANES_INLINE static __m512 multiply_add(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  KW_LANES_INLINE static void store(__m512 values, float* to) { _mm512_storeu_ps(to, values); }

  KW_LANES_INLINE static __m512 floats(const std::byte* from) { return _mm512_loadu_ps(from); }
  KW_LANES_INLINE static __m512 halves(const std::byte* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  KW_LANES_INLINE static __m512 brains(const std::byte* from) {
    const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(stored), 16));
  }
  KW_LANES_INLINE static __m512 half_everywhere(const std::byte* from) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(bits)));
  }
  KW_LANES_INLINE static __m512 bytes(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  KW_LANES_INLINE static __m512i wide_bytes(const std::byte* from) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  KW_LANES_INLINE static __m512 low_fours(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_and_si512(wide_bytes(from), _mm512_set1_epi32(15)));
  }
  KW_LANES_INLINE static __m512 high_fours(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(wide_bytes(from), 4));
  }

  // With a mask of all: g++ 12 takes what the others leave undefined for a mistake.
  KW_LANES_INLINE static __m128 quarters_summed(__m512 values) {
    const __m256 half =
        _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xFF, values, 0), _mm512_maskz_extractf32x8_ps(0xFF, values, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  KW_LANES_INLINE static __m512 pairs_summed(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_maskz_unpacklo_ps(0xFFFF, a, b), _mm512_maskz_unpackhi_ps(0xFFFF, a, b));
  }
  KW_LANES_INLINE static float sum(__m512 values) {
    const __m128 four = quarters_summed(values), two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  // The four sums are made together: of each register's pairs, of pairs of pairs, and of what then is in each quarter.
  KW_LANES_INLINE static void store_sums(__m512 a, __m512 b, __m512 c, __m512 d, float* to) {
    const __m512 ab = pairs_summed(a, b), cd = pairs_summed(c, d);
    const __m512 all = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
    _mm_storeu_ps(to, quarters_summed(all));
  }
};

}  // namespace

RowProductWay avx512_row_products(StoredType type) {
  return {"avx512", tiles::products_of<Sixteen>(type), tiles::mix_rows<Sixteen>, tiles::exponentials<Sixteen>};
}

}  // namespace kw::lm
#endif
