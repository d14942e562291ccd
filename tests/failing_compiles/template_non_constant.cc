// within: make
template <int N>
struct Tile {
  float values[N];
};
void make(int n) {
  Tile<n> t;  // <- here
  (void)t;
}
