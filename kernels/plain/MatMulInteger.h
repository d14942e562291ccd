#pragma once

#include <kernelwright.h>

#include "parts/integer_matmul.h"

// MatMulInteger: the matrix product of quantised numbers, their zero points taken off, in 32-bit integers.
template <class A, class B>
void MatMulInteger(const kw::Node& node, kw::Tensor<const A> a, kw::Tensor<const B> b, kw::Tensor<const A> a_zero,
                   kw::Tensor<const B> b_zero, kw::Tensor<int32_t>& y) {
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  y.allocate(plan.result);
  int32_t* to = y.data();
  integer_matmul(node, plan, a, a_zero, b, b_zero, [&](int64_t, int64_t, const uint32_t* sums) {
    for (int64_t j = 0; j < plan.n; ++j) *to++ = int32_t(sums[j]);
  });
}
