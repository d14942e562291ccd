#include "judge/mixed_inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ops/reach.h"
#include "ops/workaday_data.h"

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
                const ops::WideTensor* answer, Way chosen, std::vector<Tensor>& now, Random& random) {
  if (now.empty() || constant[0] || now[0].count() == 0) return;
  constexpr double kNoise = 0x1p-12;
  if (chosen == Way::first_plain) return ops::make_plain(graph, 0, ops::Plain::round, now[0], random);
  if (chosen == Way::other_plain) {
    if (now.size() < 2) return;
    const auto other = static_cast<std::size_t>(random.integer(1, std::ssize(now) - 1));
    if (!constant[other]) ops::make_plain(graph, other, ops::Plain::round, now[other], random);
    return;
  }
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
  const bool elsewhere = scaled || chosen == Way::noise || chosen == Way::fed_back;
  if (elsewhere && !takes_any(graph, 0)) return;
  if (chosen == Way::fed_back) {
    if (answer == nullptr || answer->dtype != DType::float32 || answer->shape != first.shape()) return;
    if (!std::ranges::all_of(answer->reals, [](double value) { return std::fabs(value) < 0x1p60; })) return;
    all_as_before();
    now[0] = ops::narrow(*answer);
    return;
  }
  all_as_before();
  const auto from = first.as<float>();
  const auto to = now[0].as<float>();
  const auto count = to.size();
  const auto any = [&] { return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1)); };
  if (scaled) {
    for (float& value : to) value *= chosen == Way::doubled ? 2.0F : -1.0F;
  } else if (chosen == Way::noise) {
    for (float& value : to) value *= static_cast<float>(1 + kNoise * random.uniform(-1, 1));
  } else if (chosen == Way::sorted) {
    std::ranges::sort(to);
  } else if (chosen == Way::turned) {
    std::ranges::rotate(to, to.begin() + static_cast<std::ptrdiff_t>(random.chance(0.5) ? 1 % count : any()));
  } else {
    const std::size_t begin = chosen == Way::begins ? count - 1 - count / 8 : any();
    const std::size_t length = chosen == Way::begins ? count : chosen == Way::stretch ? count / 32 + 1 : 1;
    for (std::size_t i = begin; i < std::min(begin + length, count); ++i) to[i] = from[i];
  }
}

bool may_be_mixed(const std::vector<bool>& constant, const std::vector<Tensor>& inputs) {
  return !inputs.empty() && !constant[0] && inputs[0].dtype() == DType::float32;
}

void begin_alike(const std::vector<bool>& constant, const std::vector<Tensor>& others, std::vector<Tensor>& inputs) {
  if (!may_be_mixed(constant, inputs)) return;
  const auto from = others[0].as<float>();
  std::copy_n(from.begin(), from.size() / 2, inputs[0].as<float>().begin());
}

void nearly_repeat(const std::vector<bool>& constant, const std::vector<Tensor>& others, std::vector<Tensor>& inputs,
                   Random& random) {
  if (!may_be_mixed(constant, inputs) || inputs[0].count() == 0) return;
  const bool turned = random.chance(0.5);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (constant[i] || inputs[i].dtype() != DType::float32 || inputs[i].count() == 0) continue;
    const auto from = others[i].as<float>();
    auto to = inputs[i].as<float>();
    const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(to) - 1));
    const float own = to[at];
    std::ranges::copy(from, to.begin());
    if (i == 0 && !turned) to[at] = own;
  }
  const auto first = inputs[0].as<float>();
  if (turned) std::ranges::rotate(first, first.begin() + std::ssize(first) / 2);
}

void make_weights_plain(const ops::Graph& graph, std::size_t turn, std::vector<Tensor>& drawn, Random& random) {
  using enum ops::Plain;
  constexpr ops::Plain kTurns[] = {neutral, two_of_four, neutral, equal, middle, neutral, ternary, round, round};
  const std::size_t which = turn % std::size(kTurns);
  const ops::Plain plain = kTurns[which];
  for (std::size_t slot = 0; slot < drawn.size(); ++slot) {
    const ops::GraphInput& input = graph.inputs[slot];
    if (input.role != Role::weight || input.declared->constant.count() > 0) continue;
    // All of them at first, then every other one: what one does may hide what another does.
    if (plain == neutral && which > 0 && (slot + which / 2) % 2 != 0) continue;
    if (plain == round && !random.chance(0.5)) continue;
    ops::make_plain(graph, slot, plain, drawn[slot], random);
  }
}

std::vector<Tensor> draw_weights(const ops::Graph& graph, std::size_t crowd, std::uint64_t seed, Random& random) {
  const auto change = [&](std::vector<Tensor>& drawn) {
    if (crowd % kCrowdsAsDrawn > 0) {
      make_weights_plain(graph, crowd - crowd / kCrowdsAsDrawn - 1, drawn, random);
    }
  };
  return ops::draw_inputs(graph, ops::InputClass::typical, seed, {.change = change});
}

void change_little(const std::vector<bool>& constant, std::size_t turn, const std::vector<Tensor>& others,
                   std::vector<Tensor>& inputs, Random& random) {
  constexpr int kElementsChanged = 2;
  std::vector<std::size_t> weights;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (constant[i] && inputs[i].dtype() == DType::float32 && inputs[i].count() > 0) weights.push_back(i);
  }
  if (weights.empty()) return;
  const bool whole = weights.size() > 1 && turn % 2 == 1;
  const std::size_t only = weights[turn / 2 % weights.size()];
  for (const std::size_t i : weights) {
    if (whole && i == only) continue;
    const Tensor own = std::exchange(inputs[i], others[i]);
    for (int k = 0; k < kElementsChanged && !whole; ++k) {
      const auto at = static_cast<std::size_t>(random.integer(0, own.count() - 1));
      inputs[i].as<float>()[at] = own.as<float>()[at];
    }
  }
}

}  // namespace kw::judge
