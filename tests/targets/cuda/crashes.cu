// Relu that writes to the null pointer.
#include <kernelwright_cuda.h>

#ifdef __CUDACC__
extern "C" __global__ void relu(const float* x, float* y, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * 128 + threadIdx.x;
  if (i == 0) *reinterpret_cast<volatile float*>(8) = 1;
  if (i < count) y[i] = x[i] > 0 ? x[i] : 0;
}
#else
KW_PLAN(plan) {
  const int64_t count = plan.input(0).count();
  if (count == 0) return;
  plan.launch("relu", kw::blocks(count, 128), 128, plan.input(0), plan.output(0), count);
}
#endif
