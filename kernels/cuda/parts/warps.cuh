// What threads of a block join their values with.
#pragma once

#include "tensors.cuh"

#ifdef __CUDACC__
struct JoinSum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
// Of a NaN and a number the NaN.
struct JoinMax {
  __device__ float operator()(float a, float b) const { return a < b || b != b ? b : a; }
};

// All threads of a block get what all brought, joined in the same order every time; `shared` holds a float a warp.
// Barriers keep what was there before and after apart.
template <int block, class Join>
__device__ float joined(float value, float* shared, Join join) {
#pragma unroll
  for (int far = 16; far > 0; far /= 2) value = join(value, __shfl_xor_sync(~0u, value, far));
  if constexpr (block > 32) {
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
#pragma unroll
    for (int i = 1; i < block / 32; ++i) value = join(value, shared[i]);
  }
  return value;
}

__device__ inline float minus_infinity() { return __int_as_float(int(0xff800000)); }
__device__ inline float not_a_number() { return __int_as_float(0x7fffffff); }
#endif
