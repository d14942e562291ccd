// within: dot
struct Pair4 {
  float v[4];
};
Pair4 operator*(Pair4 a, Pair4 b);
float dot(const Pair4* a, const Pair4* b, int n) {
  Pair4 sum{};
  for (int i = 0; i < n; ++i) {
    sum = sum + a[i] * b[i];  // <- here
  }
  return sum.v[0] + sum.v[1] + sum.v[2] + sum.v[3];
}
