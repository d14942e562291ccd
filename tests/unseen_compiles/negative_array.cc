// within: run
constexpr int kTile = 4;
float run(const float* x) {
  float buffer[kTile - 8];  // <- here
  for (int i = 0; i < kTile; ++i) buffer[i] = x[i];
  return buffer[0];
}
