// within: Unroll::run
// flags: -ftemplate-depth=60
template <int N>
struct Unroll {
  static int run() { return Unroll<N + 1>::run(); }  // <- here
};
int depth() {
  return Unroll<0>::run();
}
