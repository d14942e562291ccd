// within: make
struct Options {
  int rows;
  int columns;
};
Options make() {
  return {.columns = 1, .rows = 2};  // <- here
}
