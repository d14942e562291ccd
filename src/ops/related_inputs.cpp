#include "ops/related_inputs.h"

#include <cmath>

#include "ops/draw.h"

namespace kw::ops {
namespace {

// Square matrices, turned over their diagonal; others stay as they are.
void transpose(Tensor& tensor) {
  const Shape& shape = tensor.type().shape;
  if (shape.rank() < 2 || shape[shape.rank() - 1] != shape[shape.rank() - 2]) return;
  const auto n = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const auto values = tensor.as<float>();
  for (std::size_t at = 0; n > 0 && at < values.size(); at += n * n) {
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < r; ++c) std::swap(values[at + r * n + c], values[at + c * n + r]);
    }
  }
}

}  // namespace

void relate_inputs(const Graph& graph, std::vector<Tensor>& tensors, Random& random) {
  constexpr double kShare = 0.2;
  const bool each_alone = patterns_of(graph).one_sign;
  for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
    const std::size_t k = i + 1;
    const auto free = [&](std::size_t slot) { return graph.inputs[slot].role == Role::input; };
    if (!free(i) || !free(k) || tensors[i].type() != tensors[k].type() || !random.chance(kShare)) continue;
    const InputSpec* one = first_reader(graph, static_cast<int>(i));
    const InputSpec* other = first_reader(graph, static_cast<int>(k));
    const auto like = [](const Domain& a, const Domain& b) { return a.low == b.low && a.high == b.high; };
    if (one == nullptr || other == nullptr || !like(one->domain, other->domain)) continue;
    const double chosen = random.unit();
    if (chosen < 0.4 || tensors[i].dtype() != DType::float32) {
      tensors[k] = tensors[i];
      if (tensors[i].dtype() == DType::float32 && random.chance(0.4)) transpose(tensors[k]);
      continue;
    }
    const bool negative = chosen > 0.8 && other->domain.low == -other->domain.high;
    const auto from = tensors[i].as<float>();
    auto to = tensors[k].as<float>();
    const auto inside = [](double low, double value, double high) { return value >= low && value <= high; };
    if (chosen < 0.55 && !to.empty()) {
      // The same but for one element, or smaller throughout.
      const bool alone = chosen < 0.48;
      const auto at = static_cast<std::size_t>(random.pick({std::int64_t{0}, std::ssize(to) - 1}));
      const float own = to[at];
      for (std::size_t m = 0; m < to.size(); ++m) {
        const float below = from[m] - std::fabs(to[m]);
        to[m] = alone || !inside(other->domain.low, below, other->domain.high) ? from[m] : below;
      }
      if (alone) to[at] = own;
      continue;
    }
    // Not where results are summed: few different numbers that are not short drift.
    if (chosen < 0.76 && each_alone) {
      for (std::size_t m = 0; m < to.size(); ++m) {
        const float value = chosen < 0.61   ? 2 * from[m]
                            : chosen < 0.66 ? from[to.size() - 1 - m]
                            : chosen < 0.71 ? 1 - from[m]
                                            : 1 / from[m];
        if (std::isfinite(value) && inside(other->domain.low, value, other->domain.high)) to[m] = value;
      }
      continue;
    }
    for (std::size_t at = 0; at < to.size(); ++at) {
      if (chosen > 0.8 || random.chance(0.3)) to[at] = negative ? -from[at] : from[at];
    }
  }
}

}  // namespace kw::ops
