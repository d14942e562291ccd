// A linear layer, whole or as two factors.
//
// W of m x n and rank r is kept as `down` (r x n) and `up` (m x r): y = up (down x). With a pivot r rows of W are
// `down` itself, and `up` (m - r x r) makes the others of them, so that r (m + n - r) numbers suffice instead of r (m +
// n); `rows` says where each row of W then is. Both compute the same product.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kw::lm {

struct Linear {
  at::Tensor weight;  // [outputs, inputs]; undefined where it is factored
  at::Tensor down, up, rows;
  at::Tensor bias;

  at::Tensor operator()(const at::Tensor& inputs) const;
  bool is_factored() const { return down.defined(); }
  std::int64_t outputs() const;
  std::int64_t inputs() const { return is_factored() ? down.size(1) : weight.size(1); }
  // Numbers that the product needs, without the bias.
  std::int64_t parameters() const;
  at::Tensor product() const;  // the matrix that it multiplies with
};

}  // namespace kw::lm
