// within: weights
// flags: -Werror=narrowing
void weights(double d) {
  float w[3] = {1.0f, d, 2.0f};  // <- here
  (void)w;
}
