// within: run
float run(const float* x, int n) {
  const float bias;  // <- here
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i] + bias;
  return s;
}
