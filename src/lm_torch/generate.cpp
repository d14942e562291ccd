#include "lm_torch/generate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <random>

namespace kw::lm {

std::int32_t choose(const at::Tensor& logits, const Sampling& sampling, double number) {
  if (sampling.temperature <= 0) return static_cast<std::int32_t>(logits.argmax().item<std::int64_t>());
  return choose_with_share(logits, sampling, number).id;
}

Chosen choose_with_share(const at::Tensor& logits, const Sampling& sampling, double number) {
  if (sampling.temperature <= 0) {
    const auto id = logits.argmax().item<std::int64_t>();
    return {static_cast<std::int32_t>(id), at::softmax(logits, 0, at::kDouble)[id].item<double>()};
  }
  auto [likely, order] = (logits.to(at::kDouble) / sampling.temperature).sort(-1, true);
  at::Tensor shares = at::softmax(likely, 0);
  std::int64_t kept = shares.size(0);
  if (sampling.top_k > 0) kept = std::min(kept, sampling.top_k);
  const double* share = shares.data_ptr<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    sum += share[i];
    if (sum >= sampling.top_p) kept = i + 1;
  }
  double left = number * sum;
  std::int64_t chosen = 0;
  while (chosen + 1 < kept && left >= share[chosen]) left -= share[chosen++];
  return {static_cast<std::int32_t>(order[chosen].item<std::int64_t>()), share[chosen] / sum};
}

Result<std::vector<Generated>> generate(const Network& network, const std::vector<std::vector<std::int32_t>>& prompts,
                                        const Sampling& sampling,
                                        const std::function<bool(std::size_t, std::int32_t)>& tell, Decoder* decoder) {
  const ModelConfig& config = network.config();
  if (!config.is_causal() || !config.predicts_next()) {
    return fail("a {} model does not generate text token by token", name_of(config.family));
  }
  if (prompts.empty()) return std::vector<Generated>();
  std::size_t longest = 0;
  for (const auto& prompt : prompts) {
    if (prompt.empty()) return fail("a prompt is empty");
    KW_CHECK(network.check_ids(prompt));
    longest = std::max(longest, prompt.size());
  }
  if (std::ssize(prompts[0]) >= config.context || static_cast<std::int64_t>(longest) >= config.context) {
    return fail("the prompt has {} tokens, the model takes {}", longest, config.context);
  }
  const at::NoGradGuard no_gradients;
  const auto rows = std::ssize(prompts);
  std::vector<std::int64_t> padding;
  at::Tensor ids = at::zeros({rows, static_cast<std::int64_t>(longest)}, at::kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto& prompt = prompts[static_cast<std::size_t>(row)];
    padding.push_back(static_cast<std::int64_t>(longest - prompt.size()));
    std::ranges::copy(prompt, ids.data_ptr<std::int64_t>() + row * static_cast<std::int64_t>(longest) + padding.back());
  }
  if (std::ranges::all_of(padding, [](std::int64_t count) { return count == 0; })) padding.clear();
  std::mt19937_64 random(sampling.seed);
  std::uniform_real_distribution<double> number(0, 1);
  std::vector<Generated> answers(prompts.size());
  KeyValueCache cache;
  const std::int64_t most = std::min(sampling.most_tokens, config.context - static_cast<std::int64_t>(longest));
  for (std::int64_t step = 0; step < most; ++step) {
    at::Tensor logits;
    if (decoder != nullptr && rows == 1 && step > 0) {
      const auto made = decoder->step(answers[0].ids.back(), cache);
      logits = at::from_blob(const_cast<float*>(made.data()), {1, std::ssize(made)}, at::kFloat);
    } else {
      const at::Tensor states = network.run(ids, &cache, padding);
      logits = network.head(states.slice(1, states.size(1) - 1)).squeeze(1).to(at::kFloat).cpu();
    }
    ids = at::zeros({rows, 1}, at::kLong);
    bool all_ended = true;
    for (std::int64_t row = 0; row < rows; ++row) {
      Generated& answer = answers[static_cast<std::size_t>(row)];
      const double drawn = number(random);  // of every row and step, so that rows do not change each other's
      if (answer.ended) continue;
      const std::int32_t id = choose(logits[row], sampling, drawn);
      answer.ended = std::ranges::find(config.end_ids, id) != config.end_ids.end();
      if (answer.ended) continue;
      all_ended = false;
      answer.ids.push_back(id);
      ids.data_ptr<std::int64_t>()[row] = id;
      if (tell && !tell(static_cast<std::size_t>(row), id)) return answers;
    }
    if (all_ended) break;
  }
  return answers;
}

}  // namespace kw::lm
