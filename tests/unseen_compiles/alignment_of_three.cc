// within: run
float run(const float* x) {
  alignas(3) float buffer[8];  // <- here
  for (int i = 0; i < 8; ++i) buffer[i] = x[i];
  return buffer[3];
}
