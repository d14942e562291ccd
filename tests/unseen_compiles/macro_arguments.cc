// within: run
#define LOAD(p, i) ((p)[i])
float run(const float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += LOAD(x);  // <- here
  return s;
}
