// within: kw_run
#include <kernelwright.h>

KW_EXPORT void kw_run(kw_call* call) {  // <- here
  (void)call;
}
