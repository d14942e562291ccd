#include "judge/precision.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kw::judge {
namespace {

// Half precision inside loses about three digits; an answer this far off, against its own size, is another answer.
constexpr double kMostRelative = 1.0 / 64;
// A single wrong element is an ordinary mistake; lost precision shows in many elements.
constexpr double kLeastShare = 0.01;
// Shorter sums have a bound that is narrow enough.
constexpr double kLongSum = 512;
constexpr double kTermsLeft = 3;
// By how many bits terms are made smaller that should not matter in a sum.
constexpr double kLeastLoss = 18, kMostLoss = 40;

// The median, without zeros: beside one huge element the others would all seem to be off by little.
double usual_size(const ops::WideTensor& tensor) {
  std::vector<double> sizes;
  for (const double value : tensor.reals) {
    if (std::isfinite(value) && value != 0) sizes.push_back(std::fabs(value));
  }
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + std::ssize(sizes) / 2;
  std::ranges::nth_element(sizes, middle);
  return *middle;
}

}  // namespace

bool thin_out(const ops::Graph& graph, std::vector<Tensor>& inputs, Random& random) {
  double outputs = 0;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs += static_cast<double>(graph.output_type(i).shape.count());
  }
  const double terms = ops::cost_of(graph).flops / 2 / std::max(outputs, 1.0);
  if (terms < kLongSum) return false;
  Tensor* largest = nullptr;
  for (Tensor& input : inputs) {
    if (input.dtype() == DType::float32 && (largest == nullptr || input.count() > largest->count())) largest = &input;
  }
  if (largest == nullptr) return false;
  for (float& value : largest->as<float>()) {
    // Not zero: a kernel could look for that.
    if (!random.chance(kTermsLeft / terms))
      value *= static_cast<float>(std::exp2(-random.uniform(kLeastLoss, kMostLoss)));
  }
  return true;
}

std::optional<Imprecision> lost_precision(const ops::WideTensor& expected, const Tensor& got) {
  if (!is_float(got.dtype()) || got.shape() != expected.shape || got.count() < 16) return std::nullopt;
  const double size = usual_size(expected);
  double most = 0;
  std::int64_t off = 0;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double error = std::fabs(got.real(i) - expected.reals[at]);
    if (!std::isfinite(expected.reals[at]) || error <= expected.slack_at(at)) continue;
    if (!std::isfinite(error)) return std::nullopt;
    most = std::max(most, error / std::max(std::fabs(expected.reals[at]), size));
    ++off;
  }
  if (most > kMostRelative || static_cast<double>(off) < kLeastShare * static_cast<double>(got.count()))
    return std::nullopt;
  return Imprecision{off, most};
}

}  // namespace kw::judge
