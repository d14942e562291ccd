// Results that are sums of products of two tensors' elements (matrix products, convolutions): a family says once, over
// plain doubles, which products go where, and gets values, their bounds and carried slack from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/accuracy.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

// y[i] += the sum over k of scales[k] * rows[k * pitch + i], for i below `count`: a row times a matrix. The one hot
// loop of the references.
void add_scaled_rows(const double* scales, std::int64_t depth, const double* rows, std::int64_t pitch, double* y,
                     std::int64_t count);

struct Bilinear {
  std::vector<double> sum;
  std::vector<double> squares;  // the sum of the products' squares
  std::vector<double> carried;  // what the inputs' slack can do to the sum; empty where both are exact
};

// Of `sums` sums. `add(a, b, y)` adds to y the products of two vectors that are laid out as the tensors are.
template <class Add>
Bilinear bilinear(const WideTensor& a, const WideTensor& b, std::size_t sums, Add&& add) {
  const auto magnitudes = [](const WideTensor& x, bool with_slack) {
    std::vector<double> sizes(x.reals.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::fabs(x.reals[i]) + (with_slack ? x.slack_at(i) : 0);
    return sizes;
  };
  const auto squares = [](const WideTensor& x) {
    std::vector<double> all(x.reals.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = x.reals[i] * x.reals[i];
    return all;
  };
  Bilinear result{std::vector<double>(sums), std::vector<double>(sums), {}};
  add(a.reals, b.reals, result.sum);
  add(squares(a), squares(b), result.squares);
  if (a.exact() && b.exact()) return result;
  // |(a + da)(b + db) - ab| <= |a| |db| + |da| (|b| + |db|)
  result.carried.resize(sums);
  if (!b.exact()) add(magnitudes(a, false), b.slack, result.carried);
  if (!a.exact()) add(a.slack, magnitudes(b, true), result.carried);
  return result;
}

// The bound of a sum of products: that of a sum, and each product may have been rounded below the normal range.
inline double product_sum_bound(std::int64_t terms, double sum, double squares, DType dtype) {
  return drawn_sum_bound(terms, sum, squares, dtype) + static_cast<double>(terms) * smallest_subnormal(dtype);
}

}  // namespace kw::ops
