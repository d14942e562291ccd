// within: run
consteval int padded(int n) { return (n + 7) / 8 * 8; }
int run(int n) {
  return padded(n);  // <- here
}
