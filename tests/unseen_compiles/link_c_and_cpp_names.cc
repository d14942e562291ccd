// within: run
// mode: link
float fast_exp(float x);
float run(const float* x) {
  return fast_exp(x[0]);  // <- here
}
//--- exp.cc
extern "C" float fast_exp(float x) { return 1 + x; }
