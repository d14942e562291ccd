#include "lm_torch/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <cmath>

#include "base/files.h"

namespace kw::lm {
namespace {

// Tokens of a batch of windows, and those whose logits are in memory: a GPU is slow at few.
std::int64_t tokens_at_once(const Network& network) { return network.options().device().is_cuda() ? 16384 : 2048; }
std::int64_t predicted_at_once(const at::Tensor& states) { return states.is_cuda() ? 4096 : 256; }

}  // namespace

double Perplexity::value() const { return std::exp(mean_loss); }

at::Tensor tensor_of(std::span<const std::int32_t> ids, std::int64_t rows) {
  at::Tensor made = at::empty({rows, std::ssize(ids) / rows}, at::kLong);
  std::copy(ids.begin(), ids.begin() + made.numel(), made.data_ptr<std::int64_t>());
  return made;
}

Result<std::vector<std::int32_t>> tokens_of_file(const Tokenizer& tokenizer, const std::filesystem::path& path,
                                                 std::int64_t most) {
  KW_TRY(std::string text, read_file(path));
  constexpr std::size_t kMostBytesEach = 16;
  if (most > 0 && text.size() / kMostBytesEach > static_cast<std::size_t>(most))
    text.resize(static_cast<std::size_t>(most) * kMostBytesEach);
  KW_TRY(std::vector<std::int32_t> ids, tokenizer.encode(text, Specials::as_text));
  if (most > 0 && std::ssize(ids) > most) ids.resize(static_cast<std::size_t>(most));
  return ids;
}

at::Tensor summed_loss(const Network& network, const at::Tensor& finished, const at::Tensor& ids) {
  const std::int64_t predicted = ids.size(1) - 1;
  const at::Tensor states = finished.slice(1, 0, predicted).reshape({-1, finished.size(-1)});
  const at::Tensor targets = ids.slice(1, 1).reshape({-1}).to(finished.device());
  at::Tensor sum = at::zeros({}, finished.options().dtype(at::kDouble));
  const std::int64_t at_once = predicted_at_once(states);
  for (std::int64_t begin = 0; begin < targets.size(0); begin += at_once) {
    const std::int64_t end = std::min(begin + at_once, targets.size(0));
    const at::Tensor logits = network.head(states.slice(0, begin, end));
    sum = sum + at::cross_entropy_loss(logits, targets.slice(0, begin, end), {}, at::Reduction::Sum).to(at::kDouble);
  }
  return sum;
}

Result<Perplexity> perplexity_of(const Network& network, std::span<const std::int32_t> ids, std::int64_t window,
                                 const std::function<bool(const Perplexity&)>& tell) {
  if (!network.config().is_causal() || !network.config().predicts_next()) {
    return fail("a {} model predicts no next token: it has no perplexity", name_of(network.config().family));
  }
  if (window < 2 || window > network.config().context) {
    return fail("a window of {} tokens: the model takes 2 to {}", window, network.config().context);
  }
  if (ids.size() < 2) return fail("the text has {} tokens: there is nothing to predict", ids.size());
  KW_CHECK(network.check_ids(ids));
  const at::NoGradGuard no_gradients;
  const auto begin = std::chrono::steady_clock::now();
  window = std::min<std::int64_t>(window, std::ssize(ids));
  const std::int64_t windows = std::ssize(ids) / window,
                     at_once = std::max<std::int64_t>(1, tokens_at_once(network) / window);
  Perplexity result;
  double sum = 0;
  for (std::int64_t first = 0; first < windows; first += at_once) {
    const std::int64_t rows = std::min(at_once, windows - first);
    const at::Tensor batch =
        tensor_of(ids.subspan(static_cast<std::size_t>(first * window), static_cast<std::size_t>(rows * window)), rows);
    sum += summed_loss(network, network.run(batch), batch).item<double>();
    result.windows += rows;
    result.tokens += rows * (window - 1);
    result.mean_loss = sum / static_cast<double>(result.tokens);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (tell && !tell(result)) break;
  }
  return result;
}

Result<Agreement> agreement_of(const Network& original, const Network& compressed, const Tokenizer& tokenizer,
                               std::span<const std::int32_t> ids, std::int64_t window) {
  const std::int64_t around = std::ssize(tokenizer.around({}));
  window = std::min(window, original.config().context);
  const std::int64_t own = std::min(window - around, std::ssize(ids));  // tokens of the text in a window
  if (own < 1) return fail("the text has {} tokens: there is nothing to compare", ids.size());
  KW_CHECK(original.check_ids(ids));
  const at::NoGradGuard no_gradients;
  const std::int64_t windows = std::ssize(ids) / own,
                     at_once = std::max<std::int64_t>(1, tokens_at_once(original) / window);
  std::vector<at::Tensor> means[2];
  for (std::int64_t first = 0; first < windows; first += at_once) {
    std::vector<std::int32_t> batch;
    const std::int64_t rows = std::min(at_once, windows - first);
    for (std::int64_t row = first; row < first + rows; ++row) {
      const auto begin = ids.begin() + row * own;
      const std::vector<std::int32_t> whole = tokenizer.around({begin, begin + own});
      batch.insert(batch.end(), whole.begin(), whole.end());
    }
    const at::Tensor given = tensor_of(batch, rows);
    for (const auto& [network, of] : {std::pair{&original, &means[0]}, std::pair{&compressed, &means[1]}}) {
      const at::Tensor mean = network->run(given).to(at::kDouble).mean(1);
      of->push_back(mean / mean.norm(2, {1}, true).clamp_min(1e-30));
    }
  }
  const at::Tensor first = at::cat(means[0], 0), second = at::cat(means[1], 0), cosines = (first * second).sum(1);
  const auto nearest = [&](const at::Tensor& of) { return at::mm(of, of.t()).fill_diagonal_(-2).argmax(1); };
  return Agreement{.windows = windows,
                   .cosine = cosines.mean().item<double>(),
                   .least_cosine = cosines.min().item<double>(),
                   .same_nearest = nearest(first).eq(nearest(second)).to(at::kDouble).mean().item<double>()};
}

}  // namespace kw::lm
