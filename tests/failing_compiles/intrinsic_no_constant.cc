// within: shift
// flags: -march=haswell -O2
#include <immintrin.h>
__m256i shift(__m256i v, int by) {
  return _mm256_slli_si256(v, by);  // <- here
}
