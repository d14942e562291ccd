// GlobalAveragePool: Reduction, Normalization, Signal, Matrix, Attention, Recurrent, Convolution
#include <kernelwright_cuda.h>

KW_TUNE(BLOCK, 256, 64, 128, 256, 512);
KW_REQUIRE(BLOCK % 32 == 0);

#ifdef __CUDACC__
// A block a row: a sum in each thread, then over the threads of a warp, then over the warps.
extern "C" __global__ void mean_of_row(const float* x, float* y, int64_t length) {
  __shared__ float of_warp[BLOCK / 32];
  const float* row = x + int64_t(blockIdx.x) * length;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < length; i += BLOCK) sum += row[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < BLOCK / 32; ++warp) sum += of_warp[warp];
  y[blockIdx.x] = sum / float(length);
}
#else
KW_PLAN(plan) {
  const int64_t rows = plan.output(0).count();
  if (rows == 0) return;
  plan.launch("mean_of_row", rows, BLOCK, plan.input(0), plan.output(0), plan.input(0).count() / rows);
}
#endif
