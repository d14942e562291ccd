// Learning from rewards (BiC-RL's update): of several answers to one question, the better ones become likelier.
//
// An answer's advantage is its reward's z-score within its group; a group whose rewards are all equal says nothing and
// is dropped. TraceRL: round j learns the tokens that pass j of their block wrote, from what that pass saw, of all
// blocks at once, so that the model is trained on the very decisions that it made. The ratio to the policy that wrote
// the answers is clipped, and a k3 estimate of the divergence from it is added.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "lm_torch/network.h"
#include "lm_torch/train.h"
#include "lm_torch/train_loss.h"

namespace kw::lm {

// Empty where all are equal, or fewer than two.
std::vector<double> group_advantages(std::span<const double> rewards);

struct PolicyLimits {
  double clip = 0.2;
  double divergence = 0.01;
};
// What is made smaller, summed over tokens: -min(r a, clip(r) a) + divergence * (1/r - 1 + log r), r = exp(now -
// before).
at::Tensor policy_loss(const at::Tensor& now, const at::Tensor& before, const at::Tensor& advantages,
                       const PolicyLimits& limits);

// Every round once, a step of the optimiser each. `network` makes one of the weights as they are then; at most
// `rows_at_once` answers (0: all) go through a pass. The mean loss of all tokens.
double learn_from_traces(const std::vector<TracedAnswer>& answers, const std::vector<double>& advantages,
                         const std::function<Network()>& network, std::map<std::string, at::Tensor>& weights,
                         AdamW& adam, double rate, const TrainOptions& options, const PolicyLimits& limits);

}  // namespace kw::lm
