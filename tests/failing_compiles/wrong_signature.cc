// within: KW_KERNEL(call)
#include <kernelwright.h>

static void relu(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  relu(x.data(), y.data());  // <- here
}
