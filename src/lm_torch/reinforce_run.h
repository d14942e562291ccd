// kw train --reward: answers are drawn, judged by another process, and learnt from (src/lm_torch/reinforce.h), step
// after step. Lines of problems have "prompt" and "task" or "task_text", which goes to the judge; with "prefix" and
// "suffix" the hole between them is filled (stage 1), else the whole is written (stage 2).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm_torch/diffusion.h"
#include "lm_torch/reinforce.h"
#include "lm_torch/reward_process.h"
#include "lm_torch/train.h"

namespace kw::lm {

struct ReinforceOptions {
  TrainOptions training;  // its corpus are the problems, its batch the groups of a step
  std::vector<std::string> reward;
  std::int64_t samples = 16;  // answers of a group
  Sampling sampling = {.most_tokens = 1024, .temperature = 1};
  Denoising denoising;
  PolicyLimits limits;
  RewardPatience patience;
};
Result<ReinforceOptions> reinforce_options(const Json& request);

// What was done, as {"done": ...} says it; training.json of the new folder holds the same and the curve of all steps.
Result<Json> reinforce(const ReinforceOptions& options, const TellTraining& tell);

}  // namespace kw::lm
