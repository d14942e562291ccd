// within: first
int first(int a) {
  for (int i = 0; i < 4; ++i) {  // <- here
    a += i;
  return a;
}

int second(int a) {
  return first(a);
}
