// within: caller
#include <vector>
float dot(const float* a, const float* b, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}
float caller(std::vector<float> a, std::vector<float> b) {
  return dot(a, b, 3);  // <- here
}
