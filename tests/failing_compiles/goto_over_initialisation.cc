// within: f
int f(int n) {
  if (n < 0) goto end;  // <- here
  int k = n * 2;
  n = k;
end:
  return n;
}
