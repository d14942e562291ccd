// Training a small model of SDAR's form, or its autoregressive twin of Qwen3's, on lines of prompts and answers
// (src/lm/examples.h): from scratch with a tokenizer of its own, or from a folder.
//
// The work folder keeps weights, moments and the loss of every step. Which batch comes next and what is masked in it
// depend on the seed and the step alone, so that a run that was killed continues with the losses that it would have
// had; on the CPU bit for bit with the same number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/model_config.h"

namespace kw::lm {

struct TrainOptions {
  std::vector<std::filesystem::path> corpus, held_out;
  std::filesystem::path out, work, from;
  bool autoregressive = false;
  // Of a model from scratch.
  std::int64_t vocabulary = 4096, layers = 8, width = 384, inner_width = 1024, heads = 6, kv_heads = 2, head_size = 64;
  std::int64_t context = 4096;
  std::int64_t block = 4;
  // Of a step.
  std::int64_t batch = 8, length = 1024, rows_at_once = 0;  // 0: all
  std::int64_t steps = 1000, save_every = 100;
  double minutes = 0;  // of this process, after which the model is written with what it has learnt; 0: all steps
  double rate = 1e-3, least_rate = 0.1;  // the share of `rate` that the last step has: falls as a cosine; 1: constant
  double warm_up = 0.03, clip = 1, decay = 0.01;
  std::uint64_t seed = 1;
  std::string device = "cpu", numbers = "F32";  // "BF16": passes in bfloat16, weights and moments in float32
  std::string type = "BF16";                    // of the weights that are written
  // Texts that are written at every checkpoint, for people to look at. With any, the listener of progress is also
  // given {"checkpoint": {...}}: what training.json will hold, as far as it is known.
  std::int64_t shown_samples = 0;
};
Result<TrainOptions> train_options(const Json& request);

// Told where it stands after every step; false stops at once, as a kill would.
using TellTraining = std::function<bool(const Json& progress)>;
// What was done, as {"done": ...} says it; training.json of the new folder holds the same and every loss.
Result<Json> train(const TrainOptions& options, const TellTraining& tell);

bool time_is_over(const TrainOptions& options, double seconds);
double rate_at(const TrainOptions& options, std::int64_t step);

}  // namespace kw::lm
