// A warp a label finds its class's share of the row, and one block adds up the losses of all labels, always in the same
// order.
//
// serves: SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss
// types: float32
// when: outputs == 1
// order: 10
// fuses: before, after
#pragma once

#include "parts/warps.cuh"
#include "plain/likelihood.cuh"

KW_TUNE(LOSS_BLOCK, 256, 128, 256, 512);

constexpr int threads = LOSS_BLOCK;
constexpr int kernels = 2;

using SoftmaxCrossEntropyLoss_node = Likelihood;
using NegativeLogLikelihoodLoss_node = Likelihood;

#ifdef __CUDACC__
// room: the loss of each label, then its weight.
template <bool softmax, int kernel, class X, class Label, class Y>
__device__ void lose(const Likelihood& of, const X& x, const Label* labels, const float* weights, const Y& y,
                     unsigned char* room) {
  float* const losses = reinterpret_cast<float*>(room);
  float* const given = losses + of.labels;
  if constexpr (kernel == 1) {
    float sum = 0, weight = 0;
    for (int64_t i = threadIdx.x; i < of.labels; i += threads) {
      sum += losses[i];
      weight += given[i];
    }
    sum = joined<threads>(sum, shared_floats(), JoinSum());
    weight = joined<threads>(weight, shared_floats(), JoinSum());
    if (threadIdx.x == 0) y(0, of.reduction == 'm' ? sum / weight : sum);
    return;
  }
  const int lane = int(threadIdx.x) % 32;
  const int64_t step = int64_t(gridDim.x) * (threads / 32), inner = of.classes.inner;
  for (int64_t i = int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32; i < of.labels; i += step) {
    const int64_t label = int64_t(labels[i]);
    const bool counts = of.ignores == 0 || label != of.ignored;
    const int64_t first = i / inner * of.classes.length * inner + i % inner;
    float loss = 0, weight = 0;
    if (counts) {
      float share = float(x(first + label * inner));
      if constexpr (softmax) {
        float largest = minus_infinity(), sum = 0;
        for (int64_t k = lane; k < of.classes.length; k += 32) largest = JoinMax()(largest, x(first + k * inner));
        largest = joined<32>(largest, nullptr, JoinMax());
        for (int64_t k = lane; k < of.classes.length; k += 32) sum += expf(float(x(first + k * inner)) - largest);
        share = share - largest - logf(joined<32>(sum, nullptr, JoinSum()));
      }
      weight = weights == nullptr ? 1.0f : weights[label];
      loss = -weight * share;
    }
    if (lane != 0) continue;
    if (of.reduction == 'n') {
      y(i, loss);
    } else {
      losses[i] = loss;
      given[i] = weight;
    }
  }
}
template <int kernel, class X, class Label, class Y>
__device__ void SoftmaxCrossEntropyLoss(const Likelihood& of, const X& x, const Label* labels, const float* weights,
                                        const Y& y, unsigned char* room) {
  lose<true, kernel>(of, x, labels, weights, y, room);
}
template <int kernel, class X, class Label, class Y>
__device__ void NegativeLogLikelihoodLoss(const Likelihood& of, const X& x, const Label* labels, const float* weights,
                                          const Y& y, unsigned char* room) {
  lose<false, kernel>(of, x, labels, weights, y, room);
}
#else
inline Likelihood SoftmaxCrossEntropyLoss_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                               const Given& labels, const Given&) {
  const Likelihood of = likelihood_of(node, y, x, labels);
  if (of.labels > 0) steps.add(0, few_blocks(kw::blocks(of.labels, threads / 32), 1 << 20));
  if (of.reduction != 'n') {
    steps.room = 2 * of.labels * 4;
    steps.add(1, 1, threads / 32 * 4);
  }
  return of;
}
inline Likelihood NegativeLogLikelihoodLoss_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x,
                                                 const Given& labels, const Given& weights) {
  return SoftmaxCrossEntropyLoss_plan(node, steps, y, x, labels, weights);
}
#endif
