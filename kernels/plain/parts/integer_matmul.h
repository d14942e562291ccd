#pragma once

#include <kernelwright.h>

#include "matmul.h"
#include "of_slice.h"
#include "row_times_matrix.h"

// The sums of (a - zero point of its row) * (b - zero point of its column): calls put(row of a, first column of b,
// sums) for every row of every product, in the order of the result. Rows and columns are counted over all matrices.
template <class A, class B, class Put>
void integer_matmul(const kw::Node& node, const MatMulPlan& plan, kw::Tensor<const A> a, kw::Tensor<const A> a_zero,
                    kw::Tensor<const B> b, kw::Tensor<const B> b_zero, Put put) {
  const int64_t m = plan.m, k = plan.k, n = plan.n;
  int32_t* centred = node.scratch<int32_t>(b.count());  // b less its zero points
  for (int64_t i = 0, first = 0; i < b.count(); first += n) {
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < n; ++j, ++i) centred[i] = b[i] - of_slice(b_zero, first + j);
    }
  }
  int32_t* row = node.scratch<int32_t>(k);
  uint32_t* sums = node.scratch<uint32_t>(n);
  for (int64_t p = 0; p < plan.batch.count(); ++p) {
    const int64_t left = plan.left(p) * m, right = plan.right(p);
    for (int64_t i = left; i < left + m; ++i) {
      const int32_t zero = of_slice(a_zero, i);
      for (int64_t l = 0; l < k; ++l) row[l] = a[i * k + l] - zero;
      std::fill_n(sums, n, uint32_t(0));
      add_row_times_matrix(row, 1, centred + right * k * n, k, n, sums);
      put(i, right * n, sums);
    }
  }
}
