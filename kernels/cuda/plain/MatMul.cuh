#pragma once

#include "common.cuh"

// MatMul: the product of two matrices, or of stacks of them that broadcast; a vector counts as a matrix of one row or
// column.
struct MatMul_node {
  int64_t m, k, n;
  Strided a, b;  // which matrix of the operands
};

#ifdef __CUDACC__
template <class T>
__device__ T MatMul(const MatMul_node& of, int64_t i, const T* a, const T* b) {
  const int64_t column = i % of.n, row = i / of.n % of.m, batch = i / of.n / of.m;
  const T* left = a + (of.a.at(batch) * of.m + row) * of.k;
  const T* right = b + of.b.at(batch) * of.k * of.n + column;
  Wide<T> sum = 0;
  for (int64_t l = 0; l < of.k; ++l) sum += Wide<T>(left[l]) * Wide<T>(right[l * of.n]);
  return T(sum);
}
#else
inline MatMul_node MatMul_plan(const kw::Node&, kw::Shape* y, const Given& a, const Given& b) {
  MatMul_node of{a.shape.rank > 1 ? a.shape[-2] : 1, a.shape[-1], b.shape.rank > 1 ? b.shape[-1] : 1, {}, {}};
  const auto stack = [](const kw::Shape& shape) { return kw::Shape(shape.rank > 2 ? shape.rank - 2 : 0, shape.dims); };
  const kw::Shape batch = broadcast(stack(a.shape), stack(b.shape));
  of.a = broadcast_to(stack(a.shape), batch);
  of.b = broadcast_to(stack(b.shape), batch);
  *y = batch;
  if (a.shape.rank > 1) y->push(of.m);
  if (b.shape.rank > 1) y->push(of.n);
  return of;
}
#endif
