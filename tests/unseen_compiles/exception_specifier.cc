// within: norm
float norm(float x) noexcept;
float norm(float x) {  // <- here
  return x * x;
}
