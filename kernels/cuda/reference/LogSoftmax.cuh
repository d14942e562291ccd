#pragma once

#include "../plain/LogSoftmax.cuh"
#include "along_axis.cuh"

#ifdef __CUDACC__
template <class T>
__device__ void LogSoftmax_block(const LogSoftmax_node& of, int64_t row, T* y, const T* x) {
  const T* row_x = x + row_begin(of, row);
  T* row_y = y + row_begin(of, row);
  const Exponentials all = exponentials_of(of, row_x);
  for (int64_t k = threadIdx.x; k < of.length; k += BLOCK) {
    const int64_t at = k * of.inner;
    row_y[at] = T(double(row_x[at]) - all.largest - log(all.sum));
  }
}
#else
inline int64_t LogSoftmax_rows(const LogSoftmax_node& of, const kw::Shape* y) { return rows_of(of, y[0]); }
#endif
