// within: run
void add_to(float* y, float x) { *y += x; }
void run(float* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) {
    add_to(y[i], x[i]);  // <- here
  }
}
