// within: run
// mode: link
extern "C" void cblas_sgemm_small(const float*, const float*, float*, int);
void run(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i) {
    cblas_sgemm_small(a, b, c, i);  // <- here
  }
}
