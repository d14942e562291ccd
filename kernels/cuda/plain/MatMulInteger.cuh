#pragma once

#include "integer_products.cuh"
#include "MatMul.cuh"

// MatMulInteger: the matrix product of quantised numbers, their zero points taken off, in 32-bit integers.
struct MatMulInteger_node {
  MatMul_node product;
  int64_t a_zeros, b_zeros;  // how many there are
};

#ifdef __CUDACC__
template <class A, class B, class P, class Q>
__device__ int32_t MatMulInteger(const MatMulInteger_node& node, int64_t i, const A* a, const B* b, const P* a_zero,
                                 const Q* b_zero) {
  const MatMul_node& of = node.product;
  const int64_t column = i % of.n, row = i / of.n % of.m, batch = i / of.n / of.m;
  const int64_t left = of.a.at(batch) * of.m + row, right = of.b.at(batch);
  const int64_t p = int64_t(of_slice(a_zero, node.a_zeros, left));
  const int64_t q = int64_t(of_slice(b_zero, node.b_zeros, right * of.n + column));
  uint32_t sum = 0;
  for (int64_t l = 0; l < of.k; ++l) {
    sum += uint32_t((int64_t(a[left * of.k + l]) - p) * (int64_t(b[(right * of.k + l) * of.n + column]) - q));
  }
  return int32_t(sum);
}
#else
inline MatMulInteger_node MatMulInteger_plan(const kw::Node& node, kw::Shape* y, const Given& a, const Given& b,
                                             const Given& a_zero, const Given& b_zero) {
  return {MatMul_plan(node, y, a, b), a_zero.shape.count(), b_zero.shape.count()};
}
#endif
