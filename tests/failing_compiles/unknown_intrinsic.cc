// within: exp16
// flags: -march=skylake-avx512
#include <immintrin.h>
__m512 exp16(__m512 x) {
  return _mm512_exp2_fast_ps(x);  // <- here
}
