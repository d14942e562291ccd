#pragma once

#include <kernelwright.h>

#include "parts/matmul.h"
#include "parts/row_times_matrix.h"
#include "parts/wide.h"

// MatMul: the matrix product, over batches of matrices as numpy has it.
template <class T>
void MatMul(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<T>& y) {
  const MatMulPlan plan = matmul_plan(a.shape(), b.shape());
  const int64_t m = plan.m, k = plan.k, n = plan.n;
  y.allocate(plan.result);
  Wide<T>* sums = node.scratch<Wide<T>>(n);
  T* to = y.data();
  for (int64_t p = 0; p < plan.batch.count(); ++p) {
    const T* left = a.data() + plan.left(p) * m * k;
    const T* right = b.data() + plan.right(p) * k * n;
    for (int64_t i = 0; i < m; ++i, to += n) {
      std::fill_n(sums, n, Wide<T>(0));
      add_row_times_matrix(left + i * k, 1, right, k, n, sums);
      for (int64_t j = 0; j < n; ++j) to[j] = T(sums[j]);
    }
  }
}
