// HardSigmoid: Activation, Unary, Trigonometry, Logic, Binary, Loss, Quantized, Tensor, Layout, Indexing, Pooling, Resize, Others
#include <kernelwright_cuda.h>

KW_TUNE(BLOCK, 256, 128, 256, 512);

#ifdef __CUDACC__
// NaN stays NaN: both comparisons are false for it.
__device__ float gate(float x, float alpha, float beta) {
  const float y = x * alpha + beta;
  return y < 0 ? 0 : y > 1 ? 1 : y;
}

extern "C" __global__ void hard_sigmoid(const float* x, float* y, int64_t count, float alpha, float beta) {
  const int64_t i = (int64_t(blockIdx.x) * BLOCK + threadIdx.x) * 4;
  const bool is_aligned = (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0;
  if (is_aligned && i + 4 <= count) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<float4*>(y + i) =
        make_float4(gate(v.x, alpha, beta), gate(v.y, alpha, beta), gate(v.z, alpha, beta), gate(v.w, alpha, beta));
    return;
  }
  for (int64_t k = i; k < i + 4 && k < count; ++k) y[k] = gate(x[k], alpha, beta);
}
#else
KW_PLAN(plan) {
  const int64_t count = plan.output(0).count();
  if (count == 0) return;
  plan.launch("hard_sigmoid", kw::blocks(count, 4 * BLOCK), BLOCK, plan.input(0), plan.output(0), count,
              float(plan.real("alpha", 0.2)), float(plan.real("beta", 0.5)));
}
#endif
