#pragma once

#include <kernelwright.h>

#include "axis.h"
#include "wide.h"

// Minus the logarithm of the right class's probability for every label, times the class's weight; or the sum of these,
// or their mean, which divides by the sum of the weights. Labels equal to ignore_index have loss and weight zero.
template <class T, class Label>
void likelihood_loss(const kw::Node& node, kw::Tensor<const T> log_probabilities, kw::Tensor<const Label> labels,
                     kw::Tensor<const T> weights, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const bool ignores = node.has("ignore_index");
  const int64_t ignored = node.integer("ignore_index");
  const bool reduces = !node.is("reduction", "none");
  const AlongAxis classes = along(log_probabilities.shape(), 1);
  y.allocate(reduces ? kw::Shape() : labels.shape());
  W sum = 0, weight_sum = 0;
  for (int64_t o = 0; o < classes.outer; ++o) {
    for (int64_t i = 0; i < classes.inner; ++i) {
      const int64_t at = o * classes.inner + i;
      const int64_t label = labels[at];
      W loss = 0;
      if (!ignores || label != ignored) {
        const W weight = weights.given() ? W(weights[label]) : W(1);
        loss = -weight * W(log_probabilities[(o * classes.length + label) * classes.inner + i]);
        weight_sum += weight;
      }
      sum += loss;
      if (!reduces) y[at] = T(loss);
    }
  }
  if (reduces) y[0] = T(node.is("reduction", "mean") ? sum / weight_sum : sum);
}
