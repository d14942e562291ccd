// within: run
// mode: link
template <class T>
T reduce(const T* x, int n);
float run(const float* x, int n) {
  float s = 0;
  s += reduce(x, n);  // <- here
  return s;
}
