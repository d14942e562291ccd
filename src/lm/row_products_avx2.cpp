// Eight elements at a time, for processors without AVX-512: the same steps as in row_products_avx512.cpp.
#include "lm/row_products.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace kw::lm {
namespace {

#define KW_AVX2 __attribute__((target("avx2,f16c,fma"), always_inline)) inline

struct Floats {
  static constexpr int elements = 8, bytes = 32;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    return _mm256_fmadd_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(from)), _mm256_loadu_ps(x), sum);
  }
};

struct Halves {
  static constexpr int elements = 8, bytes = 16;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_fmadd_ps(_mm256_cvtph_ps(stored), _mm256_loadu_ps(x), sum);
  }
};

struct Brains {
  static constexpr int elements = 8, bytes = 16;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(stored), 16);
    return _mm256_fmadd_ps(_mm256_castsi256_ps(wide), _mm256_loadu_ps(x), sum);
  }
};

KW_AVX2 __m256 half_everywhere(const std::byte* from) {
  std::uint16_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits)));
}

struct Fours {
  __m256 low, high;
};
KW_AVX2 Fours fours_at(const std::byte* from) {
  const __m256i both = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  return {_mm256_cvtepi32_ps(_mm256_and_si256(both, _mm256_set1_epi32(15))),
          _mm256_cvtepi32_ps(_mm256_srli_epi32(both, 4))};
}

struct Q4_0 {
  static constexpr int elements = 32, bytes = 18;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    const __m256 eight = _mm256_set1_ps(8), scale = half_everywhere(from);
    __m256 own = _mm256_setzero_ps();
    for (int part = 0; part < 16; part += 8) {
      const Fours fours = fours_at(from + 2 + part);
      own = _mm256_fmadd_ps(_mm256_sub_ps(fours.low, eight), _mm256_loadu_ps(x + part), own);
      own = _mm256_fmadd_ps(_mm256_sub_ps(fours.high, eight), _mm256_loadu_ps(x + 16 + part), own);
    }
    return _mm256_fmadd_ps(scale, own, sum);
  }
};

struct Q4_1 {
  static constexpr int elements = 32, bytes = 20;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    const __m256 scale = half_everywhere(from), least = half_everywhere(from + 2);
    for (int part = 0; part < 16; part += 8) {
      const Fours fours = fours_at(from + 4 + part);
      sum = _mm256_fmadd_ps(_mm256_fmadd_ps(scale, fours.low, least), _mm256_loadu_ps(x + part), sum);
      sum = _mm256_fmadd_ps(_mm256_fmadd_ps(scale, fours.high, least), _mm256_loadu_ps(x + 16 + part), sum);
    }
    return sum;
  }
};

struct Q8_0 {
  static constexpr int elements = 32, bytes = 34;
  KW_AVX2 static __m256 add(const std::byte* from, const float* x, __m256 sum) {
    __m256 own = _mm256_setzero_ps();
    for (int part = 0; part < 32; part += 8) {
      const __m128i stored = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 2 + part));
      own = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(stored)), _mm256_loadu_ps(x + part), own);
    }
    return _mm256_fmadd_ps(half_everywhere(from), own, sum);
  }
};

KW_AVX2 float sum_of(__m256 values) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

template <class Type>
KW_AVX2 float rest_of_row(const std::byte* from, const float* x, std::int64_t count) {
  std::byte stored[Type::bytes] = {};
  float inputs[Type::elements] = {};
  __builtin_memcpy(stored, from, static_cast<std::size_t>(count * Type::bytes / Type::elements));
  __builtin_memcpy(inputs, x, static_cast<std::size_t>(count) * sizeof(float));
  return sum_of(Type::add(stored, inputs, _mm256_setzero_ps()));
}

template <class Type>
__attribute__((target("avx2,f16c,fma"))) void products(const std::byte* first, std::int64_t rows, std::int64_t columns,
                                                       const float* x, float* y) {
  const std::int64_t vectors = columns / Type::elements, left = columns % Type::elements;
  const std::int64_t row_bytes = columns * Type::bytes / Type::elements;
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, first += 4 * row_bytes) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    for (std::int64_t i = 0; i < vectors; ++i) {
      for (int k = 0; k < 4; ++k) {
        sums[k] = Type::add(first + k * row_bytes + i * Type::bytes, x + i * Type::elements, sums[k]);
      }
    }
    for (int k = 0; k < 4; ++k) {
      y[row + k] = sum_of(sums[k]);
      if (left > 0)
        y[row + k] +=
            rest_of_row<Type>(first + k * row_bytes + vectors * Type::bytes, x + vectors * Type::elements, left);
    }
  }
  for (; row < rows; ++row, first += row_bytes) {
    __m256 sum = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < vectors; ++i) sum = Type::add(first + i * Type::bytes, x + i * Type::elements, sum);
    y[row] = sum_of(sum);
    if (left > 0) y[row] += rest_of_row<Type>(first + vectors * Type::bytes, x + vectors * Type::elements, left);
  }
}

// The instructions of F16C; clang 14's __builtin_cpu_supports has no name for them.
bool converts_halves() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

RowProducts avx2_row_products(StoredType type) {
  if (!converts_halves()) return nullptr;
  switch (type) {
    case StoredType::f32:
      return products<Floats>;
    case StoredType::f16:
      return products<Halves>;
    case StoredType::bf16:
      return products<Brains>;
    case StoredType::q4_0:
      return products<Q4_0>;
    case StoredType::q4_1:
      return products<Q4_1>;
    case StoredType::q8_0:
      return products<Q8_0>;
    default:
      return nullptr;
  }
}

}  // namespace kw::lm
#endif
