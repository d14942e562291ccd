#pragma once

#include "../plain/common.cuh"

// What references in double have that plain kernels lack: a block for each row, so that rows of millions of elements
// take moments. A file OP.cuh holds OP_block, which the whole block calls: (node, row, results, operands), and OP_rows,
// how many rows there are; node and plan are those of the plain kernel.
#ifdef __CUDACC__
__device__ double* block_room() {
  __shared__ double room[BLOCK];
  return room;
}

// All threads' values joined, known to all of them.
template <class F>
__device__ double joined(double value, F join) {
  double* room = block_room();
  room[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half) room[threadIdx.x] = join(room[threadIdx.x], room[threadIdx.x + half]);
    __syncthreads();
  }
  const double result = room[0];
  __syncthreads();
  return result;
}
__device__ inline double summed(double value) {
  return joined(value, [](double a, double b) { return a + b; });
}

// The sum of f(k) over k below `count`, by all threads.
template <class F>
__device__ double sum_of(int64_t count, F f) {
  double sum = 0;
  for (int64_t k = threadIdx.x; k < count; k += BLOCK) sum += f(k);
  return summed(sum);
}
#endif
