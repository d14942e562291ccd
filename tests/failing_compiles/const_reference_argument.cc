// within: run
void fill(float& x) { x = 1; }
void run(const float* values) {
  fill(values[0]);  // <- here
}
