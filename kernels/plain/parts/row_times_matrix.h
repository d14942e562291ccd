#pragma once

#include <kernelwright.h>

// sums[j] += the sum over k of a[k * a_step] * b[k * n + j]: a row times a matrix.
template <class A, class B, class W>
void add_row_times_matrix(const A* a, int64_t a_step, const B* b, int64_t k, int64_t n, W* sums) {
  for (int64_t l = 0; l < k; ++l) {
    const W factor = W(a[l * a_step]);
    for (int64_t j = 0; j < n; ++j) sums[j] += factor * W(b[l * n + j]);
  }
}
