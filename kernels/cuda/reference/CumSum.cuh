#pragma once

#include "../plain/CumSum.cuh"
#include "scan.cuh"

#ifdef __CUDACC__
template <class T, class A>
__device__ void CumSum_block(const CumSum_node& of, int64_t row, T* y, const T* x, const A*) {
  scan_by_all(of, row, y, x, 0, [](double a, double b) { return a + b; });
}
#else
inline int64_t CumSum_rows(const CumSum_node& of, const kw::Shape* y) { return rows_of(of.view, y[0]); }
#endif
