// within: f
int f(int a) {
  int b = a * 2  // <- here
  return b;
}
