// MatMul_square: Matrix, Attention, Recurrent, Convolution
#include <kernelwright_cuda.h>

KW_TUNE(TILE, 32, 16, 32);  // of the result, and of the depth that lies in shared memory at a time
KW_TUNE(ROWS, 4, 1, 2, 4);  // that a thread computes

#ifdef __CUDACC__
extern "C" __global__ void product(const float* a, const float* b, float* y, int64_t m, int64_t n, int64_t depth) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  const int64_t first_row = int64_t(blockIdx.y) * TILE, column = int64_t(blockIdx.x) * TILE + threadIdx.x;
  float sums[ROWS] = {};
  for (int64_t from = 0; from < depth; from += TILE) {
    for (int r = 0; r < ROWS; ++r) {
      const int row = threadIdx.y * ROWS + r;
      const int64_t k = from + threadIdx.x;
      left[row][threadIdx.x] = first_row + row < m && k < depth ? a[(first_row + row) * depth + k] : 0;
      right[row][threadIdx.x] = from + row < depth && column < n ? b[(from + row) * n + column] : 0;
    }
    __syncthreads();
    // Beyond the depth nothing is multiplied: an infinity times zero is no zero.
    const int steps = depth - from < TILE ? int(depth - from) : TILE;
    for (int k = 0; k < steps; ++k) {
      for (int r = 0; r < ROWS; ++r) sums[r] += left[threadIdx.y * ROWS + r][k] * right[k][threadIdx.x];
    }
    __syncthreads();
  }
  for (int r = 0; r < ROWS; ++r) {
    const int64_t row = first_row + threadIdx.y * ROWS + r;
    if (row < m && column < n) y[row * n + column] = sums[r];
  }
}
#else
KW_PLAN(plan) {
  const int64_t m = plan.input(0).shape(0), depth = plan.input(0).shape(1), n = plan.input(1).shape(1);
  if (m == 0 || n == 0) return;
  plan.launch("product", kw::Dim3(kw::blocks(n, TILE), kw::blocks(m, TILE)), kw::Dim3(TILE, TILE / ROWS), plan.input(0),
              plan.input(1), plan.output(0), m, n, depth);
}
#endif
