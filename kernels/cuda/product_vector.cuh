// A matrix times one vector: one block a row, or a part of a long one, with 16 bytes a load.
//
// serves: MatMul
// types: float32
// when: rank0 >= 2 && rank1 == 2 && length1_1 == 1
// order: 4
// fuses: before, after
#pragma once

#include "parts/rows.cuh"
#include "parts/split.cuh"

KW_TUNE(VECTOR_BLOCK, 256, 128, 256, 512);

constexpr int threads = VECTOR_BLOCK;
constexpr int kernels = 2;

struct MatMul_node {
  int64_t rows, length;
  Split split;
};

#ifdef __CUDACC__
template <int kernel, class X, class Y>
__device__ void MatMul(const MatMul_node& of, const X& x, const float* vector, const Y& y, unsigned char* room) {
  if constexpr (kernel == 1) {
    add_parts<threads>(of.split, of.rows, room, [&](int64_t i, float sum) { y(i, sum); });
    return;
  }
  const int64_t begin = blockIdx.y * of.split.each,
                end = begin + of.split.each < of.length ? begin + of.split.each : of.length;
  const bool fours = of.length % 4 == 0, packs = x.template packs<4>() && can_pack<4>(vector);
  for (int64_t row = blockIdx.x; row < of.rows; row += gridDim.x) {
    const int64_t first = row * of.length;
    float sum = 0;
    if (fours) {
      const Read<float> other{vector};
#pragma unroll 4
      for (int64_t k = begin + threadIdx.x * 4; k < end; k += threads * 4) {
        const auto a = four_at(x, packs, first + k);
        const auto b = four_at(other, packs, k);
#pragma unroll
        for (int j = 0; j < 4; ++j) sum += a.at[j] * b.at[j];
      }
    } else {
#pragma unroll 4
      for (int64_t k = begin + threadIdx.x; k < end; k += threads) sum += x(first + k) * vector[k];
    }
    sum = joined<threads>(sum, shared_floats(), JoinSum());
    if (threadIdx.x == 0) {
      if (of.split.parts > 1) {
        reinterpret_cast<float*>(room)[blockIdx.y * of.rows + row] = sum;
      } else {
        y(row, sum);
      }
    }
    __syncthreads();
  }
}
#else
inline MatMul_node MatMul_plan(const kw::Node&, Steps& steps, kw::Shape* y, const Given& a, const Given& b) {
  *y = a.shape;
  (*y)[-1] = 1;
  MatMul_node of{y->count(), a.shape[-1], {1, a.shape[-1]}};
  if (b.shape[-1] != 1) steps.cannot = "the right operand has several columns";
  if (of.rows == 0 || steps.cannot != nullptr) return of;
  of.split = split_of(steps, of.rows / 4 + 1, of.length, threads * 16, 4, of.rows);
  steps.add(0, kw::Dim3(few_blocks(of.rows, 1 << 20), of.split.parts), kRowPrefix * 4);
  if (of.split.parts > 1) steps.add(1, few_blocks(kw::blocks(of.rows, threads)));
  return of;
}
#endif
