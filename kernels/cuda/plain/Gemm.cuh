#pragma once

#include "common.cuh"

// Gemm: alpha times the product of two matrices, either of them transposed, plus beta times a third that broadcasts.
struct Gemm_node {
  int64_t k, n;
  int64_t a_row, a_step, b_column, b_step;
  double alpha, beta;
  Strided c;
};

#ifdef __CUDACC__
template <class T>
__device__ T Gemm(const Gemm_node& of, int64_t i, const T* a, const T* b, const T* c) {
  const T* left = a + i / of.n * of.a_row;
  const T* right = b + i % of.n * of.b_column;
  Wide<T> sum = 0;
  for (int64_t l = 0; l < of.k; ++l) sum += Wide<T>(left[l * of.a_step]) * Wide<T>(right[l * of.b_step]);
  const Wide<T> product = Wide<T>(of.alpha) * sum;
  return T(c == nullptr ? product : product + Wide<T>(of.beta) * Wide<T>(c[of.c.at(i)]));
}
#else
inline Gemm_node Gemm_plan(const kw::Node& node, kw::Shape* y, const Given& a, const Given& b, const Given& c) {
  const bool at = node.integer("transA") != 0, bt = node.integer("transB") != 0;
  const int64_t m = a.shape[at ? 1 : 0], k = a.shape[at ? 0 : 1], n = b.shape[bt ? 0 : 1];
  *y = kw::Shape{m, n};
  Gemm_node of{};
  of.k = k;
  of.n = n;
  of.a_row = at ? 1 : k;
  of.a_step = at ? m : 1;
  of.b_column = bt ? k : 1;
  of.b_step = bt ? 1 : n;
  of.alpha = node.real("alpha", 1);
  of.beta = node.real("beta", 1);
  if (c.there) of.c = broadcast_to(c.shape, *y);
  return of;
}
#endif
