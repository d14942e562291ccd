// within: run
void grow(float& x) { x *= 2; }
float run(float x) {
  grow(x + 1);  // <- here
  return x;
}
