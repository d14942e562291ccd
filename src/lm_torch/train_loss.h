// What training makes smaller: how badly masked tokens of a block are guessed, or the next token of an autoregressive
// model.
//
// Block diffusion: every example is there twice with equal positions, noisy (some of its answer's tokens masked) and
// clean. A noisy token sees its own noisy block and the clean blocks before it, a clean one the clean blocks up to its
// own: one pass so trains all blocks as if each were written after the true ones. Noisy blocks without a token to learn
// would be used nowhere, and are left out.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "lm/examples.h"
#include "lm_torch/network.h"

namespace kw::lm {

// A batch ready for a pass. Its rows are of equal length; what is too short is filled up with tokens that see only
// themselves.
struct TrainingPass {
  at::Tensor ids, positions;  // [rows, tokens]
  // Which example a token belongs to (-1: none), its block there, and whether it is clean: [rows, tokens].
  at::Tensor examples, blocks, clean;
  bool in_blocks = false;
  std::vector<TokenPart> parts;  // what few of the tokens can see, for all rows (src/lm_torch/network.h)
  at::Tensor places;             // of rows * tokens, those that predict
  at::Tensor targets, weights;
  std::int64_t learnt = 0;  // tokens that the loss is divided by
  std::int64_t tokens = 0;  // of examples, filling not counted

  // Which tokens each token of rows [begin, end) sees, computed on this device: [rows, width, width]. What the tokens
  // lack to the width sees itself.
  at::Tensor seen(std::int64_t begin, std::int64_t end, const at::Device& device, std::int64_t width) const;
};

// t is drawn uniformly for each example, p = 0.999 t + 0.001, and each token to be learnt is masked with probability p
// and weighs 1 / p.
TrainingPass diffusion_pass(const std::vector<PackedRow>& rows, std::int64_t block, std::int32_t mask_id,
                            Random& random);
TrainingPass next_token_pass(const std::vector<PackedRow>& rows);

// An answer that was written, with the pass of its block that wrote each token (Filled of src/lm_torch/diffusion.h).
struct TracedAnswer {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> trace, steps;
};
// What pass number `round` saw of every block of the answers, one a row, and what it wrote; each weighs as `weights`
// say of its answer.
TrainingPass trace_pass(const std::vector<TracedAnswer>& answers, const std::vector<double>& weights,
                        std::int64_t block, std::int32_t mask_id, std::int32_t round);

// Of what rows [begin, end) are to predict, the logarithms of the probabilities that the network gives it.
struct Guesses {
  at::Tensor logs, weights;
};
Guesses guesses(const Network& network, const TrainingPass& pass, std::int64_t begin, std::int64_t end);

// Rows [begin, end) of it: sums of losses so that those of all parts add up to the loss of the whole.
at::Tensor training_loss(const Network& network, const TrainingPass& pass, std::int64_t begin, std::int64_t end);

// AdamW (decay on matrices alone), after clipping the gradients to a length together. Everything is updated in place.
class AdamW {
 public:
  explicit AdamW(const std::map<std::string, at::Tensor>& weights);
  // The length of all gradients before clipping, on the weights' device: nothing is waited for.
  at::Tensor step(std::map<std::string, at::Tensor>& weights, double rate, double decay, double clip);

  std::map<std::string, at::Tensor> means, squares;
  std::int64_t steps = 0;

 private:
  at::Tensor step_on_gpu(std::map<std::string, at::Tensor>& weights, double rate, double decay, double clip);
};

// Values that a model begins its training with, by name and seed alone.
std::map<std::string, at::Tensor> first_weights(const ModelConfig& config, std::uint64_t seed);

}  // namespace kw::lm
