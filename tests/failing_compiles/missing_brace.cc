// within: first
int first(int a) {
  if (a > 0) {  // <- here
    a -= 1;
  return a;
}
