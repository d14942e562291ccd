// within: run
float scale(float x, double by) { return x * by; }
float scale(double x, float by) { return x * by; }
float run(float x) {
  return scale(x, 2.0f);  // <- here
}
