#include "lm_torch/linear.h"

#include <ATen/ATen.h>

namespace kw::lm {
namespace {

// One row alone is a product with a vector, which libraries compute two to three times as fast as a thin matrix.
at::Tensor multiplied(const at::Tensor& inputs, const at::Tensor& weight) {
  if (inputs.numel() != weight.size(1)) return at::linear(inputs, weight);
  std::vector<std::int64_t> shape = inputs.sizes().vec();
  shape.back() = weight.size(0);
  return at::mv(weight, inputs.reshape({-1})).view(shape);
}

}  // namespace

at::Tensor Linear::operator()(const at::Tensor& inputs) const {
  at::Tensor outputs;
  if (!is_factored()) {
    outputs = multiplied(inputs, weight);
  } else {
    outputs = multiplied(inputs, down);
    if (rows.defined()) {
      outputs = at::cat({outputs, multiplied(outputs, up)}, -1).index_select(-1, rows);
    } else {
      outputs = multiplied(outputs, up);
    }
  }
  return bias.defined() ? outputs + bias : outputs;
}

std::int64_t Linear::outputs() const {
  if (!is_factored()) return weight.size(0);
  return rows.defined() ? rows.size(0) : up.size(0);
}

std::int64_t Linear::parameters() const { return is_factored() ? down.numel() + up.numel() : weight.numel(); }

at::Tensor Linear::product() const {
  if (!is_factored()) return weight;
  const at::Tensor made = at::mm(up, down);
  return rows.defined() ? at::cat({down, made}, 0).index_select(0, rows) : made;
}

}  // namespace kw::lm
