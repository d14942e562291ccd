// within: relu16
// flags: -march=x86-64
#include <immintrin.h>
void relu16(const float* x, float* y) {
  __m512 v = _mm512_loadu_ps(x);  // <- here
  _mm512_storeu_ps(y, v);
}
