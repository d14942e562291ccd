#pragma once

#include <kernelwright.h>

#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceLogSumExp: the logarithm of the sum of the exponentials along the axes, the largest element taken out first.
template <class T>
void ReduceLogSumExp(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  // A sum of many exponentials is so much larger than most of them that in float these would be lost.
  struct Sum {
    W largest;
    double sum;
  };
  const Reduction to = reduction_of(node, x.shape(), axes);
  y.allocate(to.result);
  Sum* sums = node.scratch<Sum>(y.count());
  std::fill_n(sums, y.count(), Sum{W(-INFINITY), 0});
  fold_along(x.data(), x.shape(), to.steps, sums, [](Sum found, T value) {
    return Sum{std::max(found.largest, W(value)), 0};
  });
  for (int64_t i = 0; i < y.count(); ++i) {
    if (std::isinf(sums[i].largest)) sums[i].largest = 0;
  }
  fold_along(x.data(), x.shape(), to.steps, sums, [](Sum found, T value) {
    return Sum{found.largest, found.sum + std::exp(W(value) - found.largest)};
  });
  for (int64_t i = 0; i < y.count(); ++i) y[i] = T(W(std::log(sums[i].sum)) + sums[i].largest);
}
