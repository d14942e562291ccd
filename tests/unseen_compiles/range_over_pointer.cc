// within: total
float total(const float* x, int n) {
  float s = 0;
  for (float v : x) s += v;  // <- here
  return s;
}
