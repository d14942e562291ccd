// Sixteen elements at a time. Functions carry their instruction set, the file is compiled for every processor.
#include "lm/row_products.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace kw::lm {
namespace {

#define KW_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c,fma"), always_inline)) inline

// Of each type: how many elements are read at once, from how many bytes, and their products with x added to a sum.
struct Floats {
  static constexpr int elements = 16, bytes = 64;
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    return _mm512_fmadd_ps(_mm512_loadu_ps(from), _mm512_loadu_ps(x), sum);
  }
};

struct Halves {
  static constexpr int elements = 16, bytes = 32;
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_fmadd_ps(_mm512_cvtph_ps(stored), _mm512_loadu_ps(x), sum);
  }
};

struct Brains {
  static constexpr int elements = 16, bytes = 32;
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(stored), 16);
    return _mm512_fmadd_ps(_mm512_castsi512_ps(wide), _mm512_loadu_ps(x), sum);
  }
};

KW_AVX512 __m512 half_everywhere(const std::byte* from) {
  std::uint16_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(bits)));
}

// Sixteen bytes of two four-bit values each: element i low, element i + 16 high.
struct Fours {
  __m512 low, high;
};
KW_AVX512 Fours fours_at(const std::byte* from) {
  const __m512i both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return {_mm512_cvtepi32_ps(_mm512_and_si512(both, _mm512_set1_epi32(15))),
          _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 4))};
}

struct Q4_0 {
  static constexpr int elements = 32, bytes = 18;
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    const Fours fours = fours_at(from + 2);
    const __m512 eight = _mm512_set1_ps(8);
    __m512 own = _mm512_mul_ps(_mm512_sub_ps(fours.low, eight), _mm512_loadu_ps(x));
    own = _mm512_fmadd_ps(_mm512_sub_ps(fours.high, eight), _mm512_loadu_ps(x + 16), own);
    return _mm512_fmadd_ps(half_everywhere(from), own, sum);
  }
};

struct Q4_1 {
  static constexpr int elements = 32, bytes = 20;
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    const Fours fours = fours_at(from + 4);
    const __m512 scale = half_everywhere(from), least = half_everywhere(from + 2);
    sum = _mm512_fmadd_ps(_mm512_fmadd_ps(scale, fours.low, least), _mm512_loadu_ps(x), sum);
    return _mm512_fmadd_ps(_mm512_fmadd_ps(scale, fours.high, least), _mm512_loadu_ps(x + 16), sum);
  }
};

struct Q8_0 {
  static constexpr int elements = 32, bytes = 34;
  KW_AVX512 static __m512 sixteen(const std::byte* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  KW_AVX512 static __m512 add(const std::byte* from, const float* x, __m512 sum) {
    __m512 own = _mm512_mul_ps(sixteen(from + 2), _mm512_loadu_ps(x));
    own = _mm512_fmadd_ps(sixteen(from + 18), _mm512_loadu_ps(x + 16), own);
    return _mm512_fmadd_ps(half_everywhere(from), own, sum);
  }
};

// Elements of a row that fill no vector: copied into one with zeros after them.
template <class Type>
KW_AVX512 float rest_of_row(const std::byte* from, const float* x, std::int64_t count) {
  std::byte stored[Type::bytes] = {};
  float inputs[Type::elements] = {};
  __builtin_memcpy(stored, from, static_cast<std::size_t>(count * Type::bytes / Type::elements));
  __builtin_memcpy(inputs, x, static_cast<std::size_t>(count) * sizeof(float));
  return _mm512_reduce_add_ps(Type::add(stored, inputs, _mm512_setzero_ps()));
}

// Four rows share what is read of x, and keep more of the memory's requests under way than one would.
template <class Type>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c,fma"))) void products(const std::byte* first,
                                                                                     std::int64_t rows,
                                                                                     std::int64_t columns,
                                                                                     const float* x, float* y) {
  const std::int64_t vectors = columns / Type::elements, left = columns % Type::elements;
  const std::int64_t row_bytes = columns * Type::bytes / Type::elements;
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, first += 4 * row_bytes) {
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (std::int64_t i = 0; i < vectors; ++i) {
      for (int k = 0; k < 4; ++k) {
        sums[k] = Type::add(first + k * row_bytes + i * Type::bytes, x + i * Type::elements, sums[k]);
      }
    }
    for (int k = 0; k < 4; ++k) {
      y[row + k] = _mm512_reduce_add_ps(sums[k]);
      if (left > 0)
        y[row + k] +=
            rest_of_row<Type>(first + k * row_bytes + vectors * Type::bytes, x + vectors * Type::elements, left);
    }
  }
  for (; row < rows; ++row, first += row_bytes) {
    __m512 sum = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < vectors; ++i) sum = Type::add(first + i * Type::bytes, x + i * Type::elements, sum);
    y[row] = _mm512_reduce_add_ps(sum);
    if (left > 0) y[row] += rest_of_row<Type>(first + vectors * Type::bytes, x + vectors * Type::elements, left);
  }
}

}  // namespace

RowProducts avx512_row_products(StoredType type) {
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
