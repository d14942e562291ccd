// within: first_above
int first_above(const float* x, int n, float least) {
  int found = -1;
  for (int i = 0; i < n; ++i) found = x[i] > least && found < 0 ? i : found;
  if (found >= 0) break;  // <- here
  return found;
}
