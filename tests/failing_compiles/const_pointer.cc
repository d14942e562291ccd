// within: scale
void scale(const float* x, int n) {
  for (int i = 0; i < n; ++i) {
    float* p = x + i;  // <- here
    *p *= 2;
  }
}
