// Relu in vectors, several at a time; what is left at the end is the last whole vector once more.
//
// serves: Relu
// types: float32
#include "parts/vector.h"

KW_TUNE(RELU_UNROLL, 4, 1, 2, 4, 8);

inline void Relu(const kw::Node&, kw::Tensor<const float> x, kw::Tensor<float>& y) {
  y.allocate(x.shape());
  using namespace simd;
  const float* from = x.data();
  float* to = y.data();
  const int64_t count = x.count();
  const auto one = [&](int64_t at) {
    const Floats value = load(from + at);
    store(to + at, value < 0 ? splat(0.0f) : value);  // NaN stays
  };
  int64_t i = 0;
  for (; i + RELU_UNROLL * kLanes <= count; i += RELU_UNROLL * kLanes) {
    for (int u = 0; u < RELU_UNROLL; ++u) one(i + u * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) one(i);
  if (i == count) return;
  if (count >= kLanes) {
    one(count - kLanes);
  } else {
    for (; i < count; ++i) to[i] = from[i] < 0 ? 0 : from[i];
  }
}
