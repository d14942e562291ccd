#pragma once

#include <kernelwright.h>

#include "parts/likelihood_loss.h"

// NegativeLogLikelihoodLoss: minus the given logarithms of probability of the right classes, weighted, and their sum or
// mean.
template <class T, class Label>
void NegativeLogLikelihoodLoss(const kw::Node& node, kw::Tensor<const T> input, kw::Tensor<const Label> target,
                               kw::Tensor<const T> weight, kw::Tensor<T>& loss) {
  likelihood_loss(node, input, target, weight, loss);
}
