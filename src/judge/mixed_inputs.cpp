#include "judge/mixed_inputs.h"

#include <algorithm>
#include <cmath>

#include "ops/reach.h"

namespace kw::judge {
namespace {

float largest(std::span<const float> values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::fabs(value));
  return most;
}

// Twice a typical value, or its negative, is one that all readers of an input take.
bool takes_any(const ops::Graph& graph, int slot) {
  for (const ops::GraphNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != slot) continue;
      const auto& specs = node.call.op->inputs;
      const ops::Domain& domain = specs[std::min(i, specs.size() - 1)].domain;
      if (!std::isinf(domain.low) || !std::isinf(domain.high)) return false;
    }
  }
  return true;
}

}  // namespace

bool begin_as_the_last(const ops::Graph& graph, ops::InputClass input_class, const Tensor& last, Tensor& now) {
  const auto from = last.as<float>();
  const auto to = now.as<float>();
  const bool sums = input_class == ops::InputClass::wide && !ops::patterns_of(graph).one_sign;
  // An input that is not the one that is far out was drawn near: no larger values may come into it.
  if (sums && largest(from) > largest(to)) return false;
  std::copy_n(from.begin(), std::min(from.size(), to.size() - to.size() / 8 - !to.empty()), to.begin());
  return true;
}

void make_alike(const ops::Graph& graph, const std::vector<bool>& constant, const std::vector<Tensor>& before,
                std::size_t way, std::vector<Tensor>& now, Random& random) {
  if (now.empty() || constant[0] || now[0].count() == 0) return;
  enum class Way { begins, one_element, stretch, turned, doubled, negative, first_alone, all_but_first, exchanged };
  const auto chosen = static_cast<Way>(way % kWaysAlike);
  const Tensor first = now[0];
  const auto all_as_before = [&] {
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = before[i];
  };
  if (chosen == Way::first_alone) {
    now[0] = before[0];
    return;
  }
  if (chosen == Way::all_but_first) {
    all_as_before();
    now[0] = first;
    return;
  }
  if (chosen == Way::exchanged) {
    if (now.size() < 2 || constant[1] || now[0].type() != now[1].type()) return;
    all_as_before();
    std::swap(now[0], now[1]);
    return;
  }
  if (first.dtype() != DType::float32) return;
  const bool scaled = chosen == Way::doubled || chosen == Way::negative;
  if (scaled && !takes_any(graph, 0)) return;
  all_as_before();
  const auto from = first.as<float>();
  const auto to = now[0].as<float>();
  const auto count = to.size();
  const auto any = [&] { return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1)); };
  if (scaled) {
    for (float& value : to) value *= chosen == Way::doubled ? 2.0F : -1.0F;
  } else if (chosen == Way::turned) {
    std::ranges::rotate(to, to.begin() + static_cast<std::ptrdiff_t>(random.chance(0.5) ? 1 % count : any()));
  } else {
    const std::size_t begin = chosen == Way::begins ? count - 1 - count / 8 : any();
    const std::size_t length = chosen == Way::begins ? count : chosen == Way::stretch ? count / 32 + 1 : 1;
    for (std::size_t i = begin; i < std::min(begin + length, count); ++i) to[i] = from[i];
  }
}

}  // namespace kw::judge
