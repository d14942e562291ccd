#include "lm_torch/generate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace kw::lm {

std::int32_t choose(const at::Tensor& logits, const Sampling& sampling, double number) {
  if (sampling.temperature <= 0) return static_cast<std::int32_t>(logits.argmax().item<std::int64_t>());
  return choose_with_share(logits, sampling, number).id;
}

Chosen choose_with_share(const at::Tensor& logits, const Sampling& sampling, double number) {
  return choose_many(logits.unsqueeze(0), sampling, {&number, 1}).front();
}

std::vector<Chosen> choose_many(const at::Tensor& logits, const Sampling& sampling, std::span<const double> numbers) {
  at::Tensor ids, shares;  // of every row
  if (sampling.temperature <= 0) {
    std::tie(shares, ids) = at::softmax(logits, 1, logits.is_cuda() ? at::kFloat : at::kDouble).max(1, true);
  } else {
    const auto [likely, order] = (logits.to(at::kDouble) / sampling.temperature).sort(1, true);
    const at::Tensor all = at::softmax(likely, 1), sums = all.cumsum(1);
    // The likeliest that together make up top_p, at most top_k; the first always.
    const std::int64_t most = sampling.top_k > 0 ? std::min(sampling.top_k, all.size(1)) : all.size(1);
    const at::Tensor last = (sums < sampling.top_p).sum(1, true).clamp_max(most - 1);
    const at::Tensor sum = sums.gather(1, last);
    const at::Tensor wanted =
        at::tensor(std::vector<double>(numbers.begin(), numbers.end()), at::kDouble).view({-1, 1}).to(logits.device()) *
        sum;
    const at::Tensor chosen = at::minimum((sums <= wanted).sum(1, true), last);
    ids = order.gather(1, chosen);
    shares = all.gather(1, chosen) / sum;
  }
  // One copy for both.
  const at::Tensor both = at::cat({ids.to(at::kDouble), shares.to(at::kDouble)}, 1).cpu();
  std::vector<Chosen> made;
  for (std::int64_t row = 0; row < both.size(0); ++row) {
    const double* const pair = both.data_ptr<double>() + 2 * row;
    made.push_back({static_cast<std::int32_t>(pair[0]), pair[1]});
  }
  return made;
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
      logits = network.head(states.slice(1, states.size(1) - 1)).squeeze(1).to(at::kFloat);
    }
    ids = at::zeros({rows, 1}, at::kLong);
    bool all_ended = true;
    std::vector<double> drawn;  // of every row and step, so that rows do not change each other's
    for (std::int64_t row = 0; row < rows; ++row) drawn.push_back(number(random));
    const std::vector<Chosen> chosen = choose_many(logits, sampling, drawn);
    for (std::int64_t row = 0; row < rows; ++row) {
      Generated& answer = answers[static_cast<std::size_t>(row)];
      if (answer.ended) continue;
      const std::int32_t id = chosen[static_cast<std::size_t>(row)].id;
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
