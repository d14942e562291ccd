// Eight floats at a time, for processors without AVX-512. Functions carry their instruction set, the file is compiled
// for every processor.
#include "lm/row_products.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define KW_LANES __attribute__((target("avx2,f16c,fma")))
#include "lm/row_products_tiles.h"

namespace kw::lm {
namespace {

struct Eight {
  using Register = __m256;
  static constexpr int count = 8, vectors = 2;  // 8 sums of the 16 registers

  KW_LANES_INLINE static __m256 everywhere(float value) { return _mm256_set1_ps(value); }
  KW_LANES_INLINE static __m256 add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
  KW_LANES_INLINE static __m256 multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
  KW_LANES_INLINE static __m256 multiply_add(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
  KW_LANES_INLINE static void store(__m256 values, float* to) { _mm256_storeu_ps(to, values); }

  KW_LANES_INLINE static __m256 floats(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  KW_LANES_INLINE static __m256 halves(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  KW_LANES_INLINE static __m256 brains(const std::byte* from) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(stored), 16));
  }
  KW_LANES_INLINE static __m256 half_everywhere(const std::byte* from) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits)));
  }
  KW_LANES_INLINE static __m256 bytes(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  KW_LANES_INLINE static __m256i wide_bytes(const std::byte* from) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }
  KW_LANES_INLINE static __m256 low_fours(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_and_si256(wide_bytes(from), _mm256_set1_epi32(15)));
  }
  KW_LANES_INLINE static __m256 high_fours(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(wide_bytes(from), 4));
  }

  KW_LANES_INLINE static float sum(__m256 values) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
  }
  KW_LANES_INLINE static void store_sums(__m256 a, __m256 b, __m256 c, __m256 d, float* to) {
    const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
  }
};

// The instructions of F16C; clang 14's __builtin_cpu_supports has no name for them.
bool converts_halves() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

RowProductWay avx2_row_products(StoredType type) {
  return {"avx2", converts_halves() ? tiles::products_of<Eight>(type) : nullptr, tiles::mix_rows<Eight>,
          tiles::exponentials<Eight>};
}

}  // namespace kw::lm
#endif
