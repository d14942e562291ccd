// within: sum
float sum(const float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) {
    auto add = [&] {
      if (x[i] < 0) continue;  // <- here
      s += x[i];
    };
    add();
  }
  return s;
}
