// within: dot8
// flags: -march=x86-64
#include <immintrin.h>
float dot8(const float* a, const float* b) {
  __m256 s = _mm256_fmadd_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b), _mm256_setzero_ps());  // <- here
  float out[8];
  _mm256_storeu_ps(out, s);
  return out[0];
}
