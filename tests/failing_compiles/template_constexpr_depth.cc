// within: table
constexpr int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n + 1); }
int table() {
  constexpr int value = fib(30);  // <- here
  return value;
}
