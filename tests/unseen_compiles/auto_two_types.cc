// within: clamp
auto clamp(float x, int most) {
  if (x < 0) return 0.0f;
  return most;  // <- here
}
