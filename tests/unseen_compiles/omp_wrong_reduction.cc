// within: sum
// flags: -fopenmp
float sum(const float* x, int n) {
  float s = 0;
#pragma omp parallel for reduction(plus : s)  // <- here
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
