#include <kernelwright.h>

KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
