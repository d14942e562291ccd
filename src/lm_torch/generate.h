// Text from a model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "lm_torch/decoder.h"
#include "lm_torch/network.h"

namespace kw::lm {

struct Sampling {
  std::int64_t most_tokens = 128;
  double temperature = 0;  // 0: always the likeliest token
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;        // of the probability that the likeliest make up
  std::uint64_t seed = 1;
};

struct Generated {
  std::vector<std::int32_t> ids;  // without the token that ended it
  bool ended = false;             // by itself, not by the limit of tokens
};

// All prompts go on at once. `tell` is given each new token and its prompt's index; false stops. A `decoder` of the
// same model writes what follows a single prompt.
Result<std::vector<Generated>> generate(const Network& network, const std::vector<std::vector<std::int32_t>>& prompts,
                                        const Sampling& sampling,
                                        const std::function<bool(std::size_t prompt, std::int32_t id)>& tell = {},
                                        Decoder* decoder = nullptr);

// The id that these logits and a number from [0, 1) choose, and its share of the probability that was drawn from; where
// the likeliest is taken, the share that the model gives it.
struct Chosen {
  std::int32_t id = 0;
  double share = 0;
};
Chosen choose_with_share(const at::Tensor& logits, const Sampling& sampling, double number);
// The same of many rows of logits at once, on the device where they lie, and with a number for each.
std::vector<Chosen> choose_many(const at::Tensor& logits, const Sampling& sampling, std::span<const double> numbers);
std::int32_t choose(const at::Tensor& logits, const Sampling& sampling, double number);

}  // namespace kw::lm
