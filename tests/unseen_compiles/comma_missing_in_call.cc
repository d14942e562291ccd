// within: run
void axpy(float* y, const float* x, float a, int n);
void run(float* y, const float* x, int n) {
  axpy(y, x 2.0f, n);  // <- here
}
