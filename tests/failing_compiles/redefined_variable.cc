// within: f
int f(int n) {
  int i = n;
  int i = 2;  // <- here
  return i;
}
