// within: KW_KERNEL(call)
#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input(0);  // <- here
  (void)x;
}
