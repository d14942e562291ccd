// within: KW_KERNEL(call)
#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  const int64_t rows = x.shape().size() > 1 ? x.shape(0) : 1;  // <- here
  (void)rows;
}
