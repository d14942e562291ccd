#include "lm_torch/refit.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <map>

#include "lm_torch/evaluate.h"
#include "lm_torch/statistics.h"

namespace kw::lm {
namespace {

constexpr std::int64_t kTokensAtOnce = 2048;
constexpr double kLargeInput = 3;  // in medians of a token's size: what is larger counts as this
// Of all that was seen, how much the factor that was there is worth.
constexpr std::array kWorthOfBefore = {1.0, 0.1, 0.01};

at::Tensor as_rows(const at::Tensor& states) { return states.reshape({-1, states.size(-1)}); }

// [tokens, 1]: by what both sides of a token's equation are multiplied.
at::Tensor weights_of(const at::Tensor& inputs) {
  const at::Tensor sizes = inputs.norm(2, 1).clamp_min(1e-30);
  return (sizes.median() * kLargeInput / sizes).clamp_max(1).unsqueeze(1);
}

// Each token's error against its own size: none of them is most of the sum.
double relative_error_of_tokens(const at::Tensor& states, const at::Tensor& expected) {
  const at::Tensor error = (states - expected).pow(2).sum(-1), size = expected.pow(2).sum(-1).clamp_min(1e-30);
  return (error / size).mean().item<double>();
}

double squared_error(const at::Tensor& wanted, const at::Tensor& inputs, const Factors& factors) {
  const at::Tensor made = at::mm(at::mm(inputs, factors.down.to(at::kFloat).t()), factors.up.to(at::kFloat).t());
  return (wanted - made).pow(2).sum(at::kDouble).item<double>();
}

}  // namespace

void put_factors(Linear& linear, const Factors& factors, bool pivot) {
  linear.weight = at::Tensor();
  if (pivot) {
    const Pivoted made = pivoted(factors);
    linear.down = made.down.to(at::kFloat).contiguous();
    linear.up = made.up.to(at::kFloat).contiguous();
    linear.rows = made.rows;
  } else {
    linear.down = factors.down.to(at::kFloat).contiguous();
    linear.up = factors.up.to(at::kFloat).contiguous();
  }
}

// What a pass through one layer showed.
struct Refitter::Seen {
  std::map<std::size_t, at::Tensor> inputs, outputs;  // by linear layer: [tokens, numbers], without the bias
  at::Tensor hidden;                                  // that the layer leaves
};

Refitter::Refitter(const Network& original, const at::Tensor& ids, bool pivot)
    : original_(original),
      ids_(ids),
      pivot_(pivot),
      held_(ids.size(0) < 2 ? 0 : std::max<std::int64_t>(1, ids.size(0) / 4)),
      before_(original.embed(ids)),
      after_(before_) {}

Refitter::Seen Refitter::look(const Network& network, std::int64_t layer, const at::Tensor& hidden) const {
  const std::int64_t rows = std::max<std::int64_t>(1, kTokensAtOnce / hidden.size(1));
  std::map<std::size_t, std::vector<at::Tensor>> inputs, outputs;
  std::vector<at::Tensor> next;
  for (std::int64_t first = 0; first < hidden.size(0); first += rows) {
    const at::Tensor batch = hidden.slice(0, first, std::min(first + rows, hidden.size(0)));
    Pass pass = network.begin_pass(batch.size(0), batch.size(1));
    pass.watch = [&](std::size_t linear, const at::Tensor& given, const at::Tensor& answered) {
      if (first_with_input(network.config(), linear) == linear) inputs[linear].push_back(as_rows(given));
      const at::Tensor& bias = network.layers()[static_cast<std::size_t>(layer)].linears[linear].bias;
      outputs[linear].push_back(as_rows(bias.defined() ? answered - bias : answered));
    };
    next.push_back(network.run_layer(layer, batch, pass));
  }
  Seen seen{.hidden = at::cat(next, 0)};
  for (const auto& [linear, parts] : inputs) seen.inputs[linear] = at::cat(parts, 0);
  for (const auto& [linear, parts] : outputs) seen.outputs[linear] = at::cat(parts, 0);
  return seen;
}

// Decoders add what two of a layer's matrices answer to the hidden states: these can also take back what the states
// have lost before. What is lost at the second is the difference of the layer's outputs without its answers.
at::Tensor Refitter::lost_before(std::size_t linear, const Seen& wanted, const Seen& given) const {
  constexpr std::size_t kAfterAttention = 3, kLast = 6;
  if (original_.config().family == Family::bert) return {};
  if (linear == kAfterAttention) return as_rows(before_ - after_);
  if (linear != kLast) return {};
  return as_rows(wanted.hidden - given.hidden) - (wanted.outputs.at(linear) - given.outputs.at(linear));
}

bool Refitter::refit(Network& compressed, std::int64_t layer, const std::vector<std::optional<Factors>>& factors) {
  const at::NoGradGuard no_gradients;
  auto& linears = compressed.layers()[static_cast<std::size_t>(layer)].linears;
  const std::vector<Linear> as_given = linears;
  const Seen wanted = look(original_, layer, before_);
  Seen given = look(compressed, layer, after_);
  const at::Tensor unchanged = given.hidden;
  const std::int64_t fitted = (before_.size(0) - held_) * before_.size(1);
  bool changed = false, stale = false;  // `given` is of before a change
  for (std::size_t group = 0; held_ > 0 && group < linears.size(); ++group) {
    if (first_with_input(original_.config(), group) != group) continue;
    if (stale) given = look(compressed, layer, after_);
    stale = false;
    const at::Tensor weights = weights_of(wanted.inputs.at(group));
    const at::Tensor inputs = given.inputs.at(group) * weights;
    const at::Tensor seen = inputs.slice(0, 0, fitted), held = inputs.slice(0, fitted);
    const at::Tensor gram = at::mm(seen.t(), seen);
    for (std::size_t i = group; i < linears.size(); ++i) {
      if (first_with_input(original_.config(), i) != group || !factors[i]) continue;
      const at::Tensor lost = lost_before(i, wanted, given);
      const at::Tensor outputs = (lost.defined() ? wanted.outputs.at(i) + lost : wanted.outputs.at(i)) * weights;
      const at::Tensor cross = at::mm(outputs.slice(0, 0, fitted).t(), seen);
      const at::Tensor held_outputs = outputs.slice(0, fitted);
      std::optional<Factors> best;
      double least = squared_error(held_outputs, held, *factors[i]);
      for (const double worth : kWorthOfBefore) {
        const Factors tried = refitted(*factors[i], cross, gram, worth);
        const double error = squared_error(held_outputs, held, tried);
        if (error < least) best = tried, least = error;
      }
      if (!best) continue;
      put_factors(linears[i], *best, pivot_);
      changed = stale = true;
    }
  }
  if (stale) given = look(compressed, layer, after_);
  before_ = wanted.hidden;
  const auto error_of = [&](const at::Tensor& hidden) {
    const std::int64_t first = hidden.size(0) - held_;
    return relative_error_of_tokens(hidden.slice(0, first), before_.slice(0, first));
  };
  changed = changed && error_of(given.hidden) < error_of(unchanged);
  if (!changed) linears = as_given;
  after_ = changed ? given.hidden : unchanged;
  return changed;
}

double Refitter::held_out_error(const Network& network) const {
  const at::NoGradGuard no_gradients;
  const at::Tensor held = ids_.slice(0, ids_.size(0) - held_);
  double sum = 0;
  const bool predicts = network.config().predicts_next() && network.config().is_causal();
  for (std::int64_t row = 0; row < held.size(0); ++row) {
    const at::Tensor sequence = held.slice(0, row, row + 1), finished = network.run(sequence);
    sum += predicts ? summed_loss(network, finished, sequence).item<double>() / static_cast<double>(held.size(1) - 1)
                    : relative_error_of_tokens(finished, original_.run(sequence));
  }
  return sum / static_cast<double>(std::max<std::int64_t>(held.size(0), 1));
}

}  // namespace kw::lm
