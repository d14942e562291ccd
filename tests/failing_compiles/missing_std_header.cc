// within: sum_of
#include <stdint.h>
float sum_of(const float* x, int n) {
  std::vector<float> copy(x, x + n);  // <- here
  float sum = 0;
  for (float v : copy) sum += v;
  return sum;
}
