#include "lm_torch/reinforce.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kw::lm {

std::vector<double> group_advantages(std::span<const double> rewards) {
  if (rewards.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax(rewards);
  if (least == most) return {};
  const auto count = static_cast<double>(rewards.size());
  const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / count;
  double squares = 0;
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
  const double deviation = std::sqrt(squares / count);
  std::vector<double> made;
  for (const double reward : rewards) made.push_back((reward - mean) / deviation);
  return made;
}

at::Tensor policy_loss(const at::Tensor& now, const at::Tensor& before, const at::Tensor& advantages,
                       const PolicyLimits& limits) {
  const at::Tensor difference = now - before, ratio = difference.exp();
  const at::Tensor gained = at::minimum(ratio * advantages, ratio.clamp(1 - limits.clip, 1 + limits.clip) * advantages);
  const at::Tensor divergence = (-difference).exp() - 1 + difference;
  return (limits.divergence * divergence - gained).sum();
}

double learn_from_traces(const std::vector<TracedAnswer>& answers, const std::vector<double>& advantages,
                         const std::function<Network()>& network, std::map<std::string, at::Tensor>& weights,
                         AdamW& adam, double rate, const TrainOptions& options, const PolicyLimits& limits) {
  std::int32_t rounds = 0;
  for (const TracedAnswer& answer : answers) {
    for (const std::int32_t step : answer.steps) rounds = std::max(rounds, step + 1);
  }
  const Network first = network();
  const std::int64_t rows = std::ssize(answers), at_once = options.rows_at_once > 0 ? options.rows_at_once : rows;
  std::vector<TrainingPass> passes;
  std::vector<std::vector<at::Tensor>> before;  // by round and part of its rows
  for (std::int32_t round = 0; round < rounds; ++round) {
    const at::NoGradGuard no_gradients;
    passes.push_back(trace_pass(answers, advantages, first.config().block_length,
                                static_cast<std::int32_t>(*first.config().mask_id), round));
    before.emplace_back();
    for (std::int64_t begin = 0; begin < rows; begin += at_once) {
      before.back().push_back(guesses(first, passes.back(), begin, std::min(begin + at_once, rows)).logs);
    }
  }
  double sum = 0;
  std::int64_t tokens = 0;
  for (std::size_t round = 0; round < passes.size(); ++round) {
    const TrainingPass& pass = passes[round];
    if (pass.learnt == 0) continue;
    for (std::int64_t begin = 0, part = 0; begin < rows; begin += at_once, ++part) {
      const Guesses now = guesses(network(), pass, begin, std::min(begin + at_once, rows));
      const at::Tensor loss = policy_loss(now.logs, before[round][static_cast<std::size_t>(part)], now.weights, limits);
      sum += loss.item<double>();
      (loss / static_cast<double>(pass.learnt)).backward();
    }
    tokens += pass.learnt;
    adam.step(weights, rate, options.decay, options.clip);
  }
  return tokens > 0 ? sum / static_cast<double>(tokens) : 0;
}

}  // namespace kw::lm
