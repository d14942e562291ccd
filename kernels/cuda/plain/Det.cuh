#pragma once

#include "common.cuh"

// Det: the determinant of every matrix of a batch, by elimination with partial pivoting; one thread a matrix.
struct Det_node {
  int64_t rows, room;
  int64_t n;
};

#ifdef __CUDACC__
template <class T>
__device__ void Det_row(const Det_node& of, int64_t row, const T* x, T* y, uint8_t* room) {
  const int64_t n = of.n;
  double* matrix = reinterpret_cast<double*>(room) + row * n * n;
  for (int64_t i = 0; i < n * n; ++i) matrix[i] = double(x[row * n * n + i]);
  double determinant = 1;
  for (int64_t k = 0; k < n && determinant != 0; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (fabs(matrix[i * n + k]) > fabs(matrix[best * n + k])) best = i;
    }
    for (int64_t j = k; j < n && best != k; ++j) {
      const double other = matrix[best * n + j];
      matrix[best * n + j] = matrix[k * n + j];
      matrix[k * n + j] = other;
    }
    const double pivot = matrix[k * n + k];
    determinant *= best == k ? pivot : -pivot;
    for (int64_t i = k + 1; i < n && pivot != 0; ++i) {
      const double factor = matrix[i * n + k] / pivot;
      for (int64_t j = k + 1; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  y[row] = T(determinant);
}
#else
inline Det_node Det_plan(const kw::Node&, kw::Shape* y, const Given& x) {
  *y = kw::Shape(x.shape.rank - 2, x.shape.dims);
  const int64_t n = x.shape[-1];
  return {y->count(), y->count() * n * n * 8, n};
}
#endif
