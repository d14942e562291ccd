// within: KW_KERNEL(call)
// mode: link
#include <kernelwright.h>
void fast_relu(const float* x, float* y, int64_t n);
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  fast_relu(x.data(), y.data(), x.count());  // <- here
}
