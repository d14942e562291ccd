// Results that are sums of products of two tensors' elements (matrix products, convolutions): a family says once, over
// plain doubles, which products go where, and gets values, their bounds and carried slack from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/task.h"
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

// What is lost of a factor of float32 that is read as TF32: cut off, as tensor cores read it, or rounded to the
// nearest. Numbers below the normal range may be lost.
std::vector<double> lost_in_tf32(const std::vector<double>& factors, bool rounded);

// Adds to `carried` what TF32 can do to the sums. Of factors that are known exactly their own losses are summed up, of
// both ways the larger one. Those of others are as good as random: a bias of half a unit and a spread. Tensor cores
// also round partial sums towards zero. Twice a unit of bfloat16 stands out of that.
template <class Add>
void allow_tf32(const WideTensor& a, const WideTensor& b, Add&& add, Bilinear& result) {
  constexpr double kUnit = 0x1p-11;
  result.carried.resize(result.sum.size());
  const auto lose = [&](const WideTensor& from, auto&& sums_with) {
    if (!from.exact()) {
      for (std::size_t i = 0; i < result.sum.size(); ++i)
        result.carried[i] += 2 * kUnit * (std::fabs(result.sum[i]) + std::sqrt(result.squares[i]));
      return;
    }
    std::vector<double> cut(result.sum.size()), rounded(result.sum.size());
    sums_with(lost_in_tf32(from.reals, false), cut);
    sums_with(lost_in_tf32(from.reals, true), rounded);
    for (std::size_t i = 0; i < cut.size(); ++i)
      result.carried[i] += std::fmax(std::fabs(cut[i]), std::fabs(rounded[i]));
  };
  lose(a, [&](const std::vector<double>& lost, std::vector<double>& sums) { add(lost, b.reals, sums); });
  lose(b, [&](const std::vector<double>& lost, std::vector<double>& sums) { add(a.reals, lost, sums); });
  for (std::size_t i = 0; i < result.sum.size(); ++i) result.carried[i] += kUnit * std::sqrt(result.squares[i]);
}

// Of `sums` sums. `add(a, b, y)` adds to y the products of two vectors that are laid out as the tensors are.
template <class Add>
Bilinear bilinear(const WideTensor& a, const WideTensor& b, std::size_t sums, Add&& add,
                  Precision precision = Precision::of_types) {
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
  if (precision == Precision::tf32 && a.dtype == DType::float32) allow_tf32(a, b, add, result);
  if (a.exact() && b.exact()) return result;
  // |(a + da)(b + db) - ab| <= |a| |db| + |da| (|b| + |db|)
  result.carried.resize(sums);
  if (!b.exact()) add(magnitudes(a, false), b.slack, result.carried);
  if (!a.exact()) add(a.slack, magnitudes(b, true), result.carried);
  return result;
}

// The bound of a sum of products: that of a sum, and each product may have been rounded below the normal range.
//
// float16 and bfloat16 are summed in float32 and rounded at the end, with a term that is added after that rounding at
// most (a bias): two roundings. Tensor cores, which that is for, round partial sums towards zero, one for eight terms.
inline double product_sum_bound(std::int64_t terms, double sum, double squares, DType dtype) {
  const double n = static_cast<double>(terms);
  const double small = n * smallest_subnormal(dtype);
  const DType working = working_type(dtype);
  const double summed = drawn_sum_bound(terms, sum, squares, working) + small;
  if (working == dtype) return summed;
  const double walk = std::sqrt(n * squares);
  return summed + unit_roundoff(working) * n / 8 * walk +
         2 * unit_roundoff(dtype) * (std::fabs(sum) + std::sqrt(squares)) + smallest_subnormal(dtype);
}

}  // namespace kw::ops
