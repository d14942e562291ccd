#pragma once

#include "MatMulInteger.cuh"
#include "rounded.cuh"

// QLinearMatMul: the matrix product of quantised numbers, rounded to the scale and zero point of the result.
struct QLinearMatMul_node {
  MatMulInteger_node integer;
  int64_t a_scales, b_scales;
};

#ifdef __CUDACC__
template <class A, class S, class B, class Y>
__device__ Y QLinearMatMul(const QLinearMatMul_node& node, int64_t i, const A* a, const S* a_scale, const A* a_zero,
                           const B* b, const S* b_scale, const B* b_zero, const S* y_scale, const Y* y_zero) {
  const MatMul_node& of = node.integer.product;
  const int32_t sum = MatMulInteger(node.integer, i, a, b, a_zero, b_zero);
  const int64_t batch = i / of.n / of.m;
  const float left = float(of_slice(a_scale, node.a_scales, of.a.at(batch) * of.m + i / of.n % of.m));
  const float right = float(of_slice(b_scale, node.b_scales, of.b.at(batch) * of.n + i % of.n));
  return rounded<Y>(float(sum) * (left / float(y_scale[0]) * right), float(y_zero[0]));
}
#else
inline QLinearMatMul_node QLinearMatMul_plan(const kw::Node& node, kw::Shape* y, const Given& a, const Given& a_scale,
                                             const Given& a_zero, const Given& b, const Given& b_scale,
                                             const Given& b_zero, const Given&, const Given&) {
  return {MatMulInteger_plan(node, y, a, b, a_zero, b_zero), a_scale.shape.count(), b_scale.shape.count()};
}
#endif
