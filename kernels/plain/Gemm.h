#pragma once

#include <kernelwright.h>

#include "parts/broadcast_steps.h"
#include "parts/row_times_matrix.h"
#include "parts/wide.h"

// Gemm: alpha * A * B + beta * C, with A or B transposed on request and C broadcast.
template <class T>
void Gemm(const kw::Node& node, kw::Tensor<const T> a, kw::Tensor<const T> b, kw::Tensor<const T> c, kw::Tensor<T>& y) {
  using W = Wide<T>;
  // As signed integers where W is an unsigned one: minus one has no value there, but wraps to it.
  using Factor = std::conditional_t<std::is_integral_v<W>, int64_t, W>;
  const bool a_transposed = node.integer("transA") != 0, b_transposed = node.integer("transB") != 0;
  const int64_t m = a.shape(a_transposed ? 1 : 0), k = a.shape(a_transposed ? 0 : 1);
  const int64_t n = b.shape(b_transposed ? 0 : 1);
  const int64_t a_row = a_transposed ? 1 : k, a_step = a_transposed ? m : 1;
  const W alpha = W(Factor(node.real("alpha"))), beta = W(Factor(node.real("beta")));
  y.allocate({m, n});
  const kw::Shape c_steps = broadcast_steps(c.shape(), y.shape());
  W* sums = node.scratch<W>(n);
  for (int64_t i = 0; i < m; ++i) {
    const T* left = a.data() + i * a_row;
    std::fill_n(sums, n, W(0));
    if (b_transposed) {
      for (int64_t j = 0; j < n; ++j) {
        const T* right = b.data() + j * k;
        W sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += W(left[l * a_step]) * W(right[l]);
        sums[j] = sum;
      }
    } else {
      add_row_times_matrix(left, a_step, b.data(), k, n, sums);
    }
    T* to = y.data() + i * n;
    if (c.given()) {
      const T* added = c.data() + i * c_steps[0];
      for (int64_t j = 0; j < n; ++j) to[j] = T(alpha * sums[j] + beta * W(added[j * c_steps[1]]));
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = T(alpha * sums[j]);
    }
  }
}
