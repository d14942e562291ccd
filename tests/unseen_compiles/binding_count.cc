// within: run
struct Extent {
  int rows, columns, channels;
};
int run(Extent extent) {
  auto [rows, columns] = extent;  // <- here
  return rows * columns;
}
