#pragma once

#include "likelihood.cuh"

// SoftmaxCrossEntropyLoss: minus the logarithms of the softmax of the scores at the right classes, and their sum or mean;
// and all the logarithms.
using SoftmaxCrossEntropyLoss_node = Likelihood;

#ifdef __CUDACC__
template <class T>
__device__ double log_of_share(const AlongAxis& of, const T* row, int64_t k) {
  return double(row[k * of.inner]) - largest_of(of, row) - log(sum_of_exponentials(of, row));
}
template <class T, class Label>
__device__ T SoftmaxCrossEntropyLoss(const Likelihood& of, int64_t i, const T* x, const Label* labels,
                                     const T* weights) {
  return T(likelihood(of, i, labels, weights, [&](int64_t label, int64_t first) {
    return log_of_share(of.classes, x + first, label);
  }));
}
template <int output, class T, class Label>
__device__ T SoftmaxCrossEntropyLoss_more(const Likelihood& of, int64_t i, const T* x, const Label*, const T*) {
  return T(log_of_share(of.classes, x + of.classes.first(i), i / of.classes.inner % of.classes.length));
}
#else
inline Likelihood SoftmaxCrossEntropyLoss_plan(const kw::Node& node, kw::Shape* y, const Given& x, const Given& labels,
                                               const Given&) {
  y[1] = x.shape;
  return likelihood_of(node, y, x, labels);
}
#endif
