// How well a model predicts a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "lm/tokenizer.h"
#include "lm_torch/network.h"

namespace kw::lm {

struct Perplexity {
  std::int64_t tokens = 0;  // that were predicted
  std::int64_t windows = 0;
  double mean_loss = 0;  // nats a token
  double seconds = 0;
  double value() const;
};

// The text is cut into windows of `window` tokens that do not overlap; in each, every token but the first is predicted
// from those before it in the window. A last window that is shorter is left out, unless it is the only one. `tell` is
// given what is known so far after every few windows; false stops with that.
Result<Perplexity> perplexity_of(const Network& network, std::span<const std::int32_t> ids, std::int64_t window,
                                 const std::function<bool(const Perplexity&)>& tell = {});

// How close a model stays to another one in what it makes of a text, for models that predict no next token. What stands
// for a window is the mean of its hidden states, as sentence embeddings have it.
struct Agreement {
  std::int64_t windows = 0;
  double cosine = 0, least_cosine = 0;  // between both models' means of a window: the average, and the least
  double same_nearest = 0;              // share of the windows whose nearest other window is the same one in both
};

// Windows of `window` tokens that do not overlap, those that a text begins and ends with included.
Result<Agreement> agreement_of(const Network& original, const Network& compressed, const Tokenizer& tokenizer,
                               std::span<const std::int32_t> ids, std::int64_t window);

// The first `most` tokens of a text (0: all); no more of it is tokenised than they can need.
Result<std::vector<std::int32_t>> tokens_of_file(const Tokenizer& tokenizer, const std::filesystem::path& path,
                                                 std::int64_t most);

// Sum of the losses of predicting ids[:, 1:] from the finished hidden states.
at::Tensor summed_loss(const Network& network, const at::Tensor& finished, const at::Tensor& ids);

at::Tensor tensor_of(std::span<const std::int32_t> ids, std::int64_t rows);

}  // namespace kw::lm
