#pragma once

#include "../plain/SoftmaxCrossEntropyLoss.cuh"
#include "along_axis.cuh"

#ifdef __CUDACC__
template <class T, class Label>
__device__ void SoftmaxCrossEntropyLoss_block(const Likelihood& of, int64_t row, T* y, T* logarithms, const T* x,
                                              const Label* labels, const T* weights) {
  const bool reduces = of.reduction != 'n';
  const int64_t inner = of.classes.inner, length = of.classes.length;
  double sum = 0, weight_sum = 0;
  for (int64_t at = reduces ? 0 : row; at < (reduces ? of.labels : row + 1); ++at) {
    const int64_t first = row_begin(of.classes, at), label = int64_t(labels[at]);
    const Exponentials all = exponentials_of(of.classes, x + first);
    const double less = all.largest + log(all.sum);
    if (logarithms != nullptr) {
      for (int64_t k = threadIdx.x; k < length; k += BLOCK) {
        logarithms[first + k * inner] = T(double(x[first + k * inner]) - less);
      }
    }
    if (of.ignores != 0 && label == of.ignored) continue;
    const double weight = weights == nullptr ? 1 : double(weights[label]);
    sum -= weight * (double(x[first + label * inner]) - less);
    weight_sum += weight;
  }
  if (threadIdx.x == 0) y[row] = T(of.reduction == 'm' ? sum / weight_sum : sum);
}
#else
inline int64_t SoftmaxCrossEntropyLoss_rows(const Likelihood& of, const kw::Shape*) {
  return of.reduction != 'n' ? (of.labels == 0 ? 0 : 1) : of.labels;
}
#endif
