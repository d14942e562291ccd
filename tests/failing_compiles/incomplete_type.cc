// within: rows
struct Matrix;
int rows(Matrix* m) {
  return m->rows;  // <- here
}
