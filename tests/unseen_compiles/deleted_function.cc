// within: twice
struct Tile {
  Tile() = default;
  Tile(const Tile&) = delete;
  float values[16];
};
float first(Tile tile) { return tile.values[0]; }
float twice(const Tile& tile) {
  return 2 * first(tile);  // <- here
}
