#pragma once

#include <kernelwright.h>

#include "parts/likelihood_loss.h"
#include "parts/log_softmax.h"

// SoftmaxCrossEntropyLoss: minus the logarithms of the softmax of the scores at the right classes, weighted, and their
// sum or mean; and all the logarithms.
template <class T, class Label>
void SoftmaxCrossEntropyLoss(const kw::Node& node, kw::Tensor<const T> scores, kw::Tensor<const Label> labels,
                             kw::Tensor<const T> weights, kw::Tensor<T>& output, kw::Tensor<T>& log_prob) {
  log_softmax(scores, along(scores.shape(), 1), log_prob);
  likelihood_loss(node, log_prob.read(), labels, weights, output);
}
