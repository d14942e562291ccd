// within: make
template <class T, int N>
struct Tile {
  T values[N];
};
void make() {
  Tile<float> t;  // <- here
  (void)t;
}
