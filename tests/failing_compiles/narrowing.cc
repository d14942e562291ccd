// within: make
// flags: -Werror=narrowing
struct Size {
  int n;
};
Size make(long long n) {
  return Size{n};  // <- here
}
