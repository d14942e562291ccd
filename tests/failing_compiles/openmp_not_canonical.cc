// within: sum
// flags: -fopenmp
float sum(const float* x, int n) {
  float s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; s < n; ++i) s += x[i];  // <- here
  return s;
}
