// within: Average::reduce
struct Pool {
  virtual ~Pool() = default;
  virtual float reduce(const float* x, int n) const { return n > 0 ? x[0] : 0; }
};
struct Average : Pool {
  float reduce(const float* x, long n) const override { return x[0] / n; }  // <- here
};
