#pragma once

#include "along_axis.cuh"

// What two losses share: minus the logarithm of the right class's probability for every label, times the class's weight;
// or the sum of these, or their mean, which divides by the sum of the weights.
struct Likelihood {
  AlongAxis classes;
  int64_t labels, ignores, ignored, reduction;  // 'n'one, 's'um or 'm'ean
};

#ifdef __CUDACC__
// `log_probability(label, first element of its row)`; element i of the loss, or the one that it is reduced to.
template <class Label, class T, class F>
__device__ double likelihood(const Likelihood& of, int64_t i, const Label* labels, const T* weights,
                             F log_probability) {
  double sum = 0, weight_sum = 0;
  const bool reduces = of.reduction != 'n';
  for (int64_t at = reduces ? 0 : i; at < (reduces ? of.labels : i + 1); ++at) {
    const int64_t label = int64_t(labels[at]);
    if (of.ignores != 0 && label == of.ignored) continue;
    const double weight = weights == nullptr ? 1 : double(weights[label]);
    const int64_t inner = of.classes.inner;
    sum -= weight * log_probability(label, at / inner * of.classes.length * inner + at % inner);
    weight_sum += weight;
  }
  return of.reduction == 'm' ? sum / weight_sum : sum;
}
#else
inline Likelihood likelihood_of(const kw::Node& node, kw::Shape* y, const Given& x, const Given& labels) {
  const int64_t reduction = node.text("reduction", "mean")[0];
  *y = reduction == 'n' ? labels.shape : kw::Shape();
  return {along(x.shape, 1), labels.shape.count(), node.has("ignore_index") ? 1 : 0, node.integer("ignore_index"),
          reduction};
}
#endif
