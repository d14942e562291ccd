#pragma once

#include "likelihood.cuh"

// NegativeLogLikelihoodLoss: minus the given logarithms of probability of the right classes, and their sum or mean.
using NegativeLogLikelihoodLoss_node = Likelihood;

#ifdef __CUDACC__
template <class T, class Label>
__device__ T NegativeLogLikelihoodLoss(const Likelihood& of, int64_t i, const T* x, const Label* labels,
                                       const T* weights) {
  return T(likelihood(of, i, labels, weights, [&](int64_t label, int64_t first) {
    return double(x[first + label * of.classes.inner]);
  }));
}
#else
inline Likelihood NegativeLogLikelihoodLoss_plan(const kw::Node& node, kw::Shape* y, const Given& x,
                                                 const Given& labels, const Given&) {
  return likelihood_of(node, y, x, labels);
}
#endif
