#pragma once

#include <kernelwright.h>

#include "parts/wide.h"

// Det: the determinant of every matrix of a batch, by elimination with partial pivoting.
template <class T>
void Det(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const int64_t n = x.shape(-1);
  y.allocate(kw::Shape(x.rank() - 2, x.shape().dims));
  W* matrix = node.scratch<W>(n * n);
  for (int64_t b = 0; b < y.count(); ++b) {
    for (int64_t i = 0; i < n * n; ++i) matrix[i] = W(x[b * n * n + i]);
    W determinant = 1;
    for (int64_t k = 0; k < n; ++k) {
      W* pivot_row = matrix + k * n;
      int64_t best = k;
      for (int64_t i = k + 1; i < n; ++i) {
        if (std::abs(matrix[i * n + k]) > std::abs(matrix[best * n + k])) best = i;
      }
      if (best != k) {
        std::swap_ranges(pivot_row + k, pivot_row + n, matrix + best * n + k);
        determinant = -determinant;
      }
      determinant *= pivot_row[k];
      if (pivot_row[k] == 0) break;  // so is the determinant
      for (int64_t i = k + 1; i < n; ++i) {
        W* row = matrix + i * n;
        const W factor = row[k] / pivot_row[k];
        for (int64_t j = k + 1; j < n; ++j) row[j] -= factor * pivot_row[j];
      }
    }
    y[b] = T(determinant);
  }
}
