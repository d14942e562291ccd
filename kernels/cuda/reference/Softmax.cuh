#pragma once

#include "../plain/Softmax.cuh"
#include "along_axis.cuh"

#ifdef __CUDACC__
template <class T>
__device__ void Softmax_block(const Softmax_node& of, int64_t row, T* y, const T* x) {
  const T* row_x = x + row_begin(of, row);
  T* row_y = y + row_begin(of, row);
  const Exponentials all = exponentials_of(of, row_x);
  for (int64_t k = threadIdx.x; k < of.length; k += BLOCK) {
    const int64_t at = k * of.inner;
    row_y[at] = T(exp(double(row_x[at]) - all.largest) / all.sum);
  }
}
#else
inline int64_t Softmax_rows(const Softmax_node& of, const kw::Shape* y) { return rows_of(of, y[0]); }
#endif
