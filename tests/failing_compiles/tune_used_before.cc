// within: KW_KERNEL(call)
#include <kernelwright.h>
KW_KERNEL(call) {
  auto y = call.output<float>(0);
  for (int64_t i = 0; i + UNROLL <= y.count(); i += UNROLL) y[i] = 0;  // <- here
}
KW_TUNE(UNROLL, 4, 1, 2, 4);
