// within: mix
// flags: -march=skylake-avx512
#include <immintrin.h>
__m256 mix(const float* p) {
  __m512 v = _mm512_loadu_ps(p);
  return _mm256_add_ps(v, v);  // <- here
}
