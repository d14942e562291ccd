// within: run
float run(const float* x, int n) {
  float s = 0;
  auto add = [](float v) {
    s += v;  // <- here
  };
  for (int i = 0; i < n; ++i) add(x[i]);
  return s;
}
