// within: make
struct Tile {
  Tile(int rows, int columns);
};
void make() {
  Tile t(4);  // <- here
  (void)t;
}
