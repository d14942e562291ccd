// within: fold
auto fold(const float* x, int n) {
  if (n > 1) return x[0] + fold(x + 1, n - 1);  // <- here
  return x[0];
}
