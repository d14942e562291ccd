// within: run
float run(const float* x, int n) {
  float square(float v) { return v * v; }  // <- here
  float s = 0;
  for (int i = 0; i < n; ++i) s += square(x[i]);
  return s;
}
