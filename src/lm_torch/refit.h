// Least-squares updates of a compressed model's factors, from its first layer to its last.
//
// A factored matrix is made for the inputs that the original model gave it, but is given what the compressed layers
// before it leave. Here the second factor of each is fitted to those, so that its outputs, and the hidden states that
// they are added to, come closest to the original's. Four things keep that from doing harm:
// - Matrices of a layer are fitted one group after the other, each to inputs that the groups before it, as they were
//   fitted, leave.
// - A token whose inputs are far larger than most, as the first of a sequence, counts as if it were at the edge of
// them.
// - The fit is drawn towards the factor that was there, by as much as sequences that it has not seen say.
// - What does not bring those sequences closer to the original is not taken: a matrix, a layer, or all of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "lm_torch/factorise.h"
#include "lm_torch/network.h"

namespace kw::lm {

void put_factors(Linear& linear, const Factors& factors, bool pivot);

class Refitter {
 public:
  // The last quarter of the sequences `ids` is held out; of one sequence alone nothing can be, and nothing is fitted.
  Refitter(const Network& original, const at::Tensor& ids, bool pivot);

  // Of one layer, whose factors `compressed` holds as they are given here; the layers before it are as they will stay.
  // True: they were changed.
  bool refit(Network& compressed, std::int64_t layer, const std::vector<std::optional<Factors>>& factors);

  // On the sequences that were held out: the mean loss of the next token, or how far the last hidden states of a model
  // that predicts none are from the original's.
  double held_out_error(const Network& network) const;

 private:
  struct Seen;
  Seen look(const Network& network, std::int64_t layer, const at::Tensor& hidden) const;
  at::Tensor lost_before(std::size_t linear, const Seen& wanted, const Seen& given) const;

  const Network& original_;
  const at::Tensor ids_;
  const bool pivot_;
  const std::int64_t held_;    // of the sequences, how many are not fitted to
  at::Tensor before_, after_;  // hidden states of the original and of the compressed model
};

}  // namespace kw::lm
