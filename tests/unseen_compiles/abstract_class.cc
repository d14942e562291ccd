// within: make
struct Pool {
  virtual ~Pool() = default;
  virtual float reduce(const float* x, int n) const = 0;
};
struct MaxPool : Pool {
  float reduce(const float* x, int n) { return n > 0 ? x[0] : 0; }
};
Pool* make() {
  return new MaxPool;  // <- here
}
