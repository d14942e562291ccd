// within: KW_KERNEL(call)
#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input(0);  // <- here
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < y.count(); ++i) y[i] = 0;
}
