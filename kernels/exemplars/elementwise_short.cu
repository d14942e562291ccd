// Sqrt: Activation, Unary, Trigonometry, Logic, Binary, Loss, Quantized, Tensor, Layout, Indexing, Pooling, Resize, Others
#include <kernelwright_cuda.h>

KW_TUNE(BLOCK, 256, 128, 256, 512);

#ifdef __CUDACC__
extern "C" __global__ void square_root(const float* x, float* y, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
  if (i < count) y[i] = sqrtf(x[i]);
}
#else
KW_PLAN(plan) {
  const int64_t count = plan.output(0).count();
  if (count == 0) return;
  plan.launch("square_root", kw::blocks(count, BLOCK), BLOCK, plan.input(0), plan.output(0), count);
}
#endif
