#pragma once

#include <kernelwright.h>

#include "parts/integer_matmul.h"
#include "parts/of_slice.h"
#include "parts/requantize.h"

// QLinearMatMul: the matrix product of quantised numbers, rounded to the scale and zero point of the result.
template <class A, class B, class S, class Y>
void QLinearMatMul(const kw::Node& node, kw::Tensor<const A> a, kw::Tensor<const S> a_scale, kw::Tensor<const A> a_zero,
                   kw::Tensor<const B> b, kw::Tensor<const S> b_scale, kw::Tensor<const B> b_zero,
                   kw::Tensor<const S> y_scale, kw::Tensor<const Y> y_zero, kw::Tensor<Y>& y) {
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  y.allocate(plan.result);
  Y* to = y.data();
  integer_matmul(node, plan, a, a_zero, b, b_zero, [&](int64_t row, int64_t column, const uint32_t* sums) {
    const float factor = float(of_slice(a_scale, row)) / float(y_scale[0]);
    for (int64_t j = 0; j < plan.n; ++j) {
      *to++ = requantized(int32_t(sums[j]), factor * float(of_slice(b_scale, column + j)), y_zero[0]);
    }
  });
}
